import { type Address, LIVE_TIMINGS } from '@goshawk/core';
import { describe, expect, test } from 'vitest';
import { DurableBench } from '../durable.fixture.js';
import { CLIENT, W1, W2 } from '../lone-scheduler.fixture.js';

const FORMER = 3 as Address;

/** A job of two stages with four tasks each and a time limit of a minute; two tasks run from 1,000 ms on. */
function started(bench = new DurableBench()): DurableBench {
  bench.members(W1, W2);
  const tasks = { count: 4, run: { sleep: 1 } };
  const stages = [
    { name: 'a', tasks },
    { name: 'b', after: ['a'], tasks },
  ];
  bench.submit({ timeLimit: '1m', retries: 5, stages });
  bench.commit();
  expect(bench.timers.has('timeLimit 1')).toBe(false);
  bench.now = 1_000;
  bench.ask(W1, 1);
  bench.now = 5_000;
  bench.end(W2, bench.ask(W2, 1)!);
  bench.ask(W2, 1);
  bench.commit();
  bench.take();
  return bench;
}

function detail(bench: DurableBench) {
  bench.commit();
  bench.take();
  bench.receive(CLIENT, { type: 'describeJob', request: 77, id: 's-1', spec: false });
  return bench.take().find((message) => message.type === 'jobDetail')!.value;
}

describe('a job that exceeds its time limit', () => {
  test('fails with that reason: running tasks are killed and waiting ones do not start, regardless of retries', () => {
    const bench = started();
    expect(bench.timers.get('timeLimit 1')).toBe(61_000);
    bench.now = 61_000;
    bench.scheduler.wake('timeLimit', 1, bench.now);
    bench.commit();
    const killed = bench.take().filter((message) => message.type === 'cancelTask');
    expect(killed.map(({ task }) => task)).toEqual([0, 2]);
    expect(detail(bench)).toMatchObject({
      state: 'failed',
      timeLimitMs: 60_000,
      tasks: { completed: 1, failed: 3, cancelled: 4 },
      wastedMs: 60_000 + 56_000,
      attempts: { total: 3, failed: 2, lost: 0 },
      failures: [
        { task: 0, code: 'time-limit', message: "the job's time limit of 1 min 0 s has passed" },
        { task: 2, code: 'time-limit' },
        { task: 3, code: 'time-limit' },
      ],
    });
    expect(bench.timers.has('timeLimit 1')).toBe(false);
  });

  test('is not ended early, and a job that has ended is left alone', () => {
    const bench = started();
    bench.scheduler.wake('timeLimit', 1, 60_999);
    bench.scheduler.wake('timeLimit', 99, 60_999);
    expect(detail(bench).state).toBe('running');
    bench.receive(CLIENT, { type: 'cancelJob', request: 9, id: 's-1' });
    bench.now = 61_000;
    bench.scheduler.wake('timeLimit', 1, bench.now);
    expect(detail(bench).tasks).toMatchObject({ failed: 0 });
  });

  test('is timed from its first start, and a declined task is not a start', () => {
    const bench = new DurableBench();
    bench.members(W1, W2);
    bench.submit({ timeLimit: '1m', tasks: [{ sleep: 1 }] });
    bench.commit();
    bench.now = 1_000;
    const { task, attempt } = bench.ask(W1, 1)!;
    const placed = { task, attempt };
    bench.receive(W1, { type: 'declined', job: 1, stage: 0, probes: 0, placed });
    expect(detail(bench)).toMatchObject({ state: 'waiting', firstStartMs: undefined });
    bench.now = 61_000;
    bench.scheduler.wake('timeLimit', 1, bench.now);
    expect(detail(bench)).toMatchObject({ state: 'waiting', tasks: { waiting: 1, failed: 0 } });
    bench.ask(W2, 1);
    expect(bench.timers.get('timeLimit 1')).toBe(121_000);
    expect(detail(bench)).toMatchObject({ state: 'running', firstStartMs: 61_000 });
  });

  test('keeps its time limit through a restart of its owner, with ended and running tasks', () => {
    const before = started();
    const bench = new DurableBench(before.inheritance([FORMER]), 20_000);
    bench.commit();
    bench.members(W1);
    bench.receive(W1, {
      type: 'holding',
      audit: 0,
      tasks: [{ job: 1, task: 0, attempt: 1, elapsedMs: 19_000, match: undefined }],
    });
    bench.now = LIVE_TIMINGS.leaseMs + 10_000;
    bench.scheduler.wake('sweep', 0, bench.now);
    expect(bench.timers.get('timeLimit 1')).toBe(61_000 - 20_000);
    bench.now = 41_000;
    bench.scheduler.wake('timeLimit', 1, bench.now);
    expect(detail(bench)).toMatchObject({
      state: 'failed',
      tasks: { completed: 1, failed: 3, cancelled: 4 },
    });
  });
});

import { type Address, COMPLETED, LIVE_TIMINGS } from '@goshawk/core';
import { describe, expect, test } from 'vitest';
import { DurableBench, FAILED } from '../durable.fixture.js';
import { CENTRAL, CLIENT, W1, W2 } from '../lone-scheduler.fixture.js';

const FORMER = 3 as Address;
const { leaseMs, retryMs } = LIVE_TIMINGS;

/** A job of three tasks: one has completed at W1, and one runs there when the scheduler crashes. */
function crashed(): DurableBench {
  const bench = new DurableBench();
  bench.members(W1, W2);
  bench.submit({ retries: 2, tasks: { count: 3, run: { sleep: 1 } } });
  bench.end(W1, bench.ask(W1, 1)!);
  bench.ask(W1, 1);
  bench.commit();
  return bench;
}

function again(before: DurableBench): DurableBench {
  const bench = new DurableBench(before.inheritance([FORMER]), 1_000);
  bench.commit();
  return bench;
}

function sweepUntil(bench: DurableBench, until: number): void {
  for (; bench.now <= until; bench.now += retryMs) bench.scheduler.wake('sweep', 0, bench.now);
}

const held = (task: number, attempt: number) => ({ job: 1, task, attempt, elapsedMs: 40, match: undefined });

function summary(bench: DurableBench) {
  bench.take();
  bench.receive(CLIENT, { type: 'describeJob', request: 77, id: 's-1', spec: false });
  const answer = bench.take().find((message) => message.type === 'jobDetail');
  return answer?.value as { state: string; tasks: object; attempts: object };
}

describe('a restarted owner', () => {
  test('asks its workers, and assigns nothing before all have answered', () => {
    const bench = again(crashed());
    bench.members(W1, W2);
    expect(bench.take()).toEqual([
      { type: 'resume', previousIncarnations: [FORMER], audit: 0 },
      { type: 'resume', previousIncarnations: [FORMER], audit: 0 },
    ]);
    bench.receive(W1, { type: 'holding', tasks: [held(1, 1)], audit: 0 });
    expect(bench.take()).toEqual([]);
    bench.receive(W2, { type: 'holding', tasks: [], audit: 0 });
    // Probes for the one task that no worker has.
    expect(bench.take().map(({ type }) => type)).toEqual(['probe', 'probe']);
    expect(summary(bench).tasks).toMatchObject({ completed: 1, running: 1, waiting: 1 });
  });

  test('accepts reports of tasks that ended meanwhile', () => {
    const bench = again(crashed());
    bench.members(W1);
    bench.receive(W1, { type: 'holding', tasks: [held(1, 1)], audit: 0 });
    bench.end(W1, { job: 1, task: 1, attempt: 1 } as never, { ...COMPLETED, value: 7 });
    bench.commit();
    expect(bench.take().filter(({ type }) => type === 'confirm')).toHaveLength(1);
    expect(summary(bench).tasks).toMatchObject({ completed: 2, running: 0 });
  });

  test('does not accept a report that overtakes its worker’s answer', () => {
    const bench = again(crashed());
    bench.members(W1);
    bench.take();
    const task = { job: 1, task: 1, attempt: 1 } as never;
    bench.end(W1, task);
    bench.commit();
    expect(bench.take()).toEqual([]);
    bench.receive(W1, { type: 'holding', tasks: [held(1, 1)], audit: 0 });
    bench.end(W1, task);
    bench.commit();
    expect(bench.take().filter(({ type }) => type === 'confirm')).toHaveLength(1);
    expect(summary(bench).tasks).toMatchObject({ completed: 2, running: 0 });
  });

  test('waits at most a lease for a silent worker', () => {
    const bench = again(crashed());
    bench.members(W1, W2);
    bench.receive(W1, { type: 'holding', tasks: [], audit: 0 });
    bench.take();
    bench.now = retryMs;
    bench.scheduler.wake('sweep', 0, bench.now);
    expect(bench.take()).toEqual([{ type: 'resume', previousIncarnations: [FORMER], audit: 0 }]);
    sweepUntil(bench, leaseMs + retryMs);
    expect(bench.take().filter(({ type }) => type === 'probe')).toHaveLength(4);
    // Both tasks run elsewhere when it answers.
    const elsewhere = [bench.ask(W1, 1)!, bench.ask(W1, 1)!];
    expect(elsewhere.map(({ task, attempt }) => [task, attempt])).toEqual([
      [1, 2],
      [2, 2],
    ]);
    bench.receive(W2, { type: 'holding', tasks: [held(1, 1)], audit: 0 });
    expect(bench.take()).toEqual([{ type: 'cancelTask', job: 1, task: 1, attempt: 1 }]);
  });

  test('does not count time in which it was suspended', () => {
    const bench = again(crashed());
    bench.members(W1);
    bench.take();
    bench.now = 3 * leaseMs;
    bench.scheduler.wake('sweep', 0, bench.now);
    expect(bench.take()).toEqual([{ type: 'resume', previousIncarnations: [FORMER], audit: 0 }]);
    bench.receive(W1, { type: 'holding', tasks: [held(1, 1)], audit: 0 });
    expect(summary(bench).tasks).toMatchObject({ completed: 1, running: 1 });
  });

  test('keeps the later of two attempts, in any order of answers', () => {
    for (const first of [W1, W2]) {
      const bench = again(crashed());
      bench.members(W1, W2);
      bench.take();
      const attempts = new Map([
        [W1, 1],
        [W2, 2],
      ]);
      for (const worker of [first, first === W1 ? W2 : W1]) {
        bench.receive(worker, { type: 'holding', tasks: [held(1, attempts.get(worker)!)], audit: 0 });
      }
      const cancelled = bench.take().filter(({ type }) => type === 'cancelTask');
      expect(cancelled).toEqual([{ type: 'cancelTask', job: 1, task: 1, attempt: 1 }]);
      bench.end(W2, { job: 1, task: 1, attempt: 2 } as never);
      bench.commit();
      expect(summary(bench).tasks).toMatchObject({ completed: 2 });
    }
  });

  test('has workers kill tasks that were never journaled, or were cancelled', () => {
    const before = crashed();
    before.receive(CLIENT, { type: 'cancelJob', request: 3, id: 's-1' });
    const bench = again(before);
    bench.members(W1);
    bench.take();
    bench.receive(W1, { type: 'holding', tasks: [held(1, 1), { ...held(0, 1), job: 8 }], audit: 0 });
    expect(bench.take()).toEqual([
      { type: 'cancelTask', job: 1, task: 1, attempt: 1 },
      { type: 'cancelTask', job: 8, task: 0, attempt: 1 },
    ]);
    bench.commit();
    expect(summary(bench).state).toBe('cancelled');
  });

  test('continues to count failures', () => {
    const before = new DurableBench();
    before.members(W1);
    before.submit({ retries: 1, tasks: [{ sleep: 1 }] });
    before.end(W1, before.ask(W1, 1)!, FAILED);
    const bench = again(before);
    bench.members(W1);
    bench.receive(W1, { type: 'holding', tasks: [], audit: 0 });
    bench.end(W1, bench.ask(W1, 1)!, FAILED);
    bench.commit();
    expect(summary(bench)).toMatchObject({ state: 'failed', attempts: { failed: 2 } });
  });

  test('recognizes its jobs by their keys, and reuses no number', () => {
    const bench = again(crashed());
    bench.submit({ retries: 2, tasks: { count: 3, run: { sleep: 1 } } }, 'k', 5);
    bench.submit({ tasks: [{ sleep: 1 }] }, 'another', 6);
    bench.commit();
    const answers = bench.take().flatMap((message) => (message.type === 'accepted' ? [message.value] : []));
    expect(answers).toMatchObject([{ job: 's-1' }, { job: 's-10002' }]);
  });

  test('also asks a worker that joins late', () => {
    const bench = again(crashed());
    bench.members(W1);
    bench.receive(W1, { type: 'holding', tasks: [], audit: 0 });
    bench.take();
    bench.receive(CENTRAL, {
      type: 'members',
      version: 2,
      since: 1,
      changed: [
        {
          address: W2,
          name: 'w',
          slots: 1,
          capacity: {},
          partition: 'general',
          draining: false,
          place: 1,
          attributes: [],
        },
      ],
      left: [],
      owners: [],
      ownersVersion: 0,
      silentMs: undefined,
    });
    expect(bench.take()).toContainEqual({ type: 'resume', previousIncarnations: [FORMER], audit: 0 });
  });
});

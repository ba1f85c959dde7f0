import { COMPLETED, LIVE_TIMINGS, type MessageOf, metDeadline } from '@goshawk/core';
import { expect, test } from 'vitest';
import { DurableBench } from '../durable.fixture.js';
import { CLIENT, W1 } from '../lone-scheduler.fixture.js';

/** A job of one task that must end within 10 s, and has run for 1 s. */
function started(spec = {}) {
  const bench = new DurableBench();
  bench.members(W1);
  bench.submit({ tasks: [{ sleep: 1 }], deadline: '10s', ...spec });
  bench.commit();
  const task = bench.ask(W1, 1)!;
  bench.commit();
  bench.pass(1_000);
  return { bench, task };
}

function detail(bench: DurableBench) {
  bench.commit();
  bench.take();
  bench.receive(CLIENT, { type: 'describeJob', request: 9, id: 's-1', spec: false });
  const { value } = bench.take().find((message) => message.type === 'jobDetail')!;
  return { ...value, met: metDeadline(value, value.submittedAt) };
}

function restarted(before: DurableBench): DurableBench {
  before.commit();
  const bench = new DurableBench(before.inheritance(), before.now);
  bench.members(W1);
  return bench;
}

function end(
  bench: DurableBench,
  task: MessageOf<'run'>,
  more: { runMs: number; endedAgoMs?: number },
): void {
  const { job, task: index, attempt } = task;
  const rest = { outcome: COMPLETED, output: [], outputBytes: 0, ask: 0, ...more };
  bench.receive(W1, { type: 'ended', report: 1, job, task: index, attempt, ...rest });
}

/** Whether the scheduler reports that the deadline was missed. */
function isMissReported(bench: DurableBench): boolean {
  wakeIfLate(bench);
  bench.pass(10_000);
  wakeIfLate(bench);
  bench.pass(1_000);
  return bench.take().some(({ type }) => type === 'notices');
}

function wakeIfLate(bench: DurableBench): void {
  const at = bench.timers.get('deadline 1') ?? Number.POSITIVE_INFINITY;
  if (bench.now >= at) bench.scheduler.wake('deadline', 1, bench.now);
}

test('a job that ended in time while its scheduler was down met its deadline, also after another restart', () => {
  const { bench: before, task } = started();
  before.now += 19_000;
  const bench = restarted(before);
  const ran = { job: 1, task: 0, attempt: 1, match: undefined, elapsedMs: 20_000 };
  bench.receive(W1, { type: 'holding', audit: 0, tasks: [ran] });
  end(bench, task, { runMs: 5_000, endedAgoMs: 15_000 });
  const expected = { state: 'completed', startedMs: 0, endedMs: 5_000, recordedMs: 20_000, met: true };
  expect(detail(bench)).toMatchObject(expected);
  expect(isMissReported(bench)).toBe(false);
  expect(detail(restarted(bench))).toMatchObject(expected);
});

test('a job that ended in time while its scheduler was suspended met its deadline', () => {
  const { bench, task } = started();
  bench.now += 19_000;
  wakeIfLate(bench);
  bench.scheduler.wake('heartbeat', 0, bench.now);
  end(bench, task, { runMs: 5_000 });
  const expected = { endedMs: 5_000, recordedMs: 20_000, met: true };
  expect(detail(bench)).toMatchObject(expected);
  expect(isMissReported(bench)).toBe(false);
  expect(detail(restarted(bench))).toMatchObject(expected);
});

test('a task that ends after a suspension ends when it is reported', () => {
  const { bench, task } = started();
  bench.now += 19_000;
  wakeIfLate(bench);
  bench.pass(2 * LIVE_TIMINGS.heartbeatMs);
  wakeIfLate(bench);
  expect(isMissReported(bench)).toBe(true);
  end(bench, task, { runMs: 5_000 });
  const { endedMs, recordedMs, met } = detail(bench);
  expect({ endedMs, recordedMs, met }).toEqual({ endedMs: bench.now, recordedMs: undefined, met: false });
});

test('no attempt ends before it was assigned, whatever its worker reports', () => {
  const { bench, task } = started();
  bench.pass(14_000);
  end(bench, task, { runMs: 5_000, endedAgoMs: 1e9 });
  expect(detail(bench)).toMatchObject({ endedMs: 0, recordedMs: 15_000 });
});

test('no job ends before its acceptance, whatever a worker reports that kept its result', () => {
  const { bench: before, task } = started();
  before.now += 19_000;
  const bench = restarted(before);
  const ran = { job: 1, task: 0, attempt: 1, match: undefined, elapsedMs: 1e9 };
  bench.receive(W1, { type: 'holding', audit: 0, tasks: [ran] });
  end(bench, task, { runMs: 5_000, endedAgoMs: 1e9 });
  expect(detail(bench)).toMatchObject({ state: 'completed', endedMs: 0, recordedMs: 20_000 });
  expect(detail(restarted(bench))).toMatchObject({ state: 'completed', endedMs: 0, recordedMs: 20_000 });
});

test('an open job ends when it is closed', () => {
  const bench = new DurableBench();
  bench.members(W1);
  bench.submit({ open: '1h' });
  const append = (each: readonly object[], first: number, close: boolean) => {
    bench.commit();
    const tasks = { id: 's-1', first, common: {}, each, digest: '1', close, taken: 0 };
    bench.receive(CLIENT, { type: 'appendTasks', request: 2 + first, ...tasks });
  };
  append([{ sleep: 1 }], 0, false);
  bench.commit();
  const task = bench.ask(W1, 1)!;
  bench.pass(2_000);
  end(bench, task, { runMs: 500, endedAgoMs: 1_000 });
  bench.pass(1_000);
  append([], 1, true);
  for (const each of [bench, restarted(bench)]) {
    const { state, endedMs, recordedMs } = detail(each);
    expect({ state, endedMs, recordedMs }).toEqual({
      state: 'completed',
      endedMs: 3_000,
      recordedMs: undefined,
    });
  }
});

test('a cancelled job ends when it is cancelled', () => {
  const { bench, task } = started({ tasks: [{ sleep: 1 }, { sleep: 1 }] });
  end(bench, task, { runMs: 500, endedAgoMs: 500 });
  bench.pass(2_000);
  bench.receive(CLIENT, { type: 'cancelJob', request: 8, id: 's-1' });
  expect(detail(bench)).toMatchObject({ state: 'cancelled', endedMs: 3_000 });
});

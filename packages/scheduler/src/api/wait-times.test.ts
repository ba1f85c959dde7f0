import { type Address, COMPLETED, type MessageOf, PRESETS, type WaitPhase } from '@goshawk/core';
import { expect, test } from 'vitest';
import { DurableBench, FAILED } from '../durable.fixture.js';
import { CENTRAL, CLIENT, W1, W2, welcome } from '../lone-scheduler.fixture.js';

/** Waits of tasks: count, mean and maximum. */
function waited(bench: DurableBench, id: string): Partial<Record<WaitPhase, [number, number, number]>> {
  bench.take();
  bench.receive(CLIENT, { type: 'explainJob', request: 1, id, task: undefined });
  const [explained] = bench.take() as [MessageOf<'jobExplanation'>];
  const sums = explained.value.waitSums!.map(({ phase, tasks, meanMs, maxMs }) => [
    phase,
    [tasks, meanMs, maxMs],
  ]);
  return Object.fromEntries(sums);
}

/** The same scheduler, started again 10 s later. */
function startedAgain(bench: DurableBench): DurableBench {
  bench.commit();
  return new DurableBench(bench.inheritance(), 10_000);
}

/** The worker takes a task after this time; it runs for 5 ms. */
function runAfter(
  bench: DurableBench,
  ms: number,
  job: number,
  { stage = 0, outcome = COMPLETED, worker = W1 as Address } = {},
): void {
  bench.now += ms;
  const run = bench.ask(worker, job, stage)!;
  bench.now += 5;
  bench.end(worker, run, outcome);
}

test('a job of one task waited for a worker', () => {
  const bench = new DurableBench();
  bench.members(W1);
  bench.submit({ tasks: [{ sleep: 1 }] });
  runAfter(bench, 300, 1);
  expect(waited(bench, 's-1')).toEqual({ worker: [1, 300, 300] });
  expect(waited(startedAgain(bench), 's-1')).toEqual({ worker: [1, 300, 300] });
});

test('a task that failed counts among those that have started, and may be the one that ended last', () => {
  const bench = new DurableBench();
  bench.members(W1);
  bench.submit({ tasks: [{ sleep: 1 }, { sleep: 1 }, { sleep: 1 }] });
  runAfter(bench, 300, 1);
  runAfter(bench, 100, 1, { outcome: FAILED });
  bench.take();
  bench.receive(CLIENT, { type: 'explainJob', request: 1, id: 's-1', task: undefined });
  const [explained] = bench.take() as [MessageOf<'jobExplanation'>];
  expect(explained.value.waits).toMatchObject({ tasks: 2, max: 405 });
  expect(explained.value.last).toMatchObject({ state: 'failed', waitedMs: 405, ranMs: 5 });
});

test('the first start of an ended job is when its first task ran, before and after a restart', () => {
  const bench = new DurableBench();
  bench.members(W1);
  bench.submit({ tasks: [{ sleep: 1 }] });
  bench.now += 300;
  const run = bench.ask(W1, 1, 0)!;
  // The worker prepares the task for a second before it runs for 5 ms.
  bench.now += 1_005;
  bench.end(W1, run, COMPLETED);
  const started = (at: DurableBench) => {
    at.commit();
    at.take();
    at.receive(CLIENT, { type: 'describeJob', request: 1, id: 's-1', spec: false });
    const { startedMs, firstStartMs } = at.take().find((message) => message.type === 'jobDetail')!.value;
    return [startedMs, firstStartMs];
  };
  expect(started(bench)).toEqual([1_300, 1_300]);
  expect(started(startedAgain(bench))).toEqual([1_300, 1_300]);
});

test('a stage waited for the one before it', () => {
  const bench = new DurableBench();
  bench.members(W1);
  bench.submit({
    stages: [
      { name: 'a', tasks: [{ sleep: 1 }] },
      { name: 'b', tasks: [{ sleep: 1 }], after: ['a'] },
    ],
  });
  runAfter(bench, 300, 1);
  runAfter(bench, 100, 1, { stage: 1 });
  const expected = { stage: [1, 305, 305], worker: [2, 200, 300] };
  expect(waited(bench, 's-1')).toEqual(expected);
  expect(waited(startedAgain(bench), 's-1')).toEqual(expected);
});

test('a job waited for another one to end', () => {
  const bench = new DurableBench();
  bench.members(W1);
  bench.submit({ tasks: [{ sleep: 1 }] });
  bench.submit({ tasks: [{ sleep: 1 }], after: ['s-1'] }, 'other');
  runAfter(bench, 300, 1);
  bench.commit();
  runAfter(bench, 100, 2);
  const expected = { 'other-job': [1, 305, 305], worker: [1, 100, 100] };
  expect(waited(bench, 's-2')).toEqual(expected);
  expect(waited(startedAgain(bench), 's-2')).toEqual(expected);
});

test('tasks that are not pilots wait for workers like the pilots of their job', () => {
  const bench = new DurableBench(undefined, 0, false);
  bench.receive(
    CENTRAL,
    welcome({ preset: PRESETS.hawk, estimator: 'pilot', pilotRatio: 0.2, cutoffMs: 1_000 }),
  );
  bench.members(W1);
  bench.submit({ tasks: { count: 4, run: { sleep: 1 } } });
  runAfter(bench, 300, 1, { stage: 1 });
  for (let task = 0; task < 3; task++) runAfter(bench, 100, 1);
  const expected = { worker: [4, (300 + 405 + 510 + 615) / 4, 615] };
  expect(waited(bench, 's-1')).toEqual(expected);
  expect(waited(startedAgain(bench), 's-1')).toEqual(expected);
});

test('a task waited for a worker, and again after its first attempt had failed', () => {
  const bench = new DurableBench();
  bench.members(W1, W2);
  bench.submit({ tasks: [{ sleep: 1 }], retries: 1 });
  runAfter(bench, 300, 1, { outcome: FAILED });
  bench.commit();
  runAfter(bench, 100, 1, { worker: W2 as Address });
  const expected = { worker: [1, 300, 300], retry: [1, 105, 105] };
  expect(waited(bench, 's-1')).toEqual(expected);
  expect(waited(startedAgain(bench), 's-1')).toEqual(expected);
});

test('after a retry, waiting times count from it, and only tasks that started again have any', () => {
  const bench = new DurableBench();
  bench.members(W1);
  bench.submit({ tasks: [{ sleep: 1 }, { sleep: 1 }] });
  runAfter(bench, 300, 1);
  runAfter(bench, 100, 1, { outcome: FAILED });
  bench.now += 5_000;
  bench.retry();
  bench.commit();
  expect(waited(bench, 's-1')).toEqual({});
  runAfter(bench, 40, 1);
  expect(waited(bench, 's-1')).toEqual({ worker: [1, 40, 40] });
  expect(waited(startedAgain(bench), 's-1')).toEqual({ worker: [1, 40, 40] });
});

import { type Address, COMPLETED, LIVE_TIMINGS, type MessageOf } from '@goshawk/core';
import { describe, expect, test } from 'vitest';
import { DurableBench, FAILED } from '../durable.fixture.js';
import { CENTRAL, CLIENT, joined, W1, W2, welcome } from '../lone-scheduler.fixture.js';

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

  test('keeps the time at which the first task started until the end of the job and after it', () => {
    const before = new DurableBench();
    before.members(W1);
    before.submit({ tasks: { count: 2, run: { sleep: 1 } } });
    before.commit();
    before.now = 100;
    const first = before.ask(W1, 1)!;
    before.now = 150;
    before.end(W1, first, COMPLETED, 40);
    before.commit();
    const bench = new DurableBench(before.inheritance([FORMER]), 5_000);
    bench.members(W1);
    bench.receive(W1, { type: 'holding', tasks: [], audit: 0 });
    bench.commit();
    const second = bench.ask(W1, 1)!;
    bench.now = 60;
    bench.end(W1, second, COMPLETED, 40);
    bench.commit();
    const firstStartIn = (of: DurableBench) =>
      (summary(of) as unknown as { firstStartMs: number }).firstStartMs;
    expect(firstStartIn(bench)).toBe(110);
    expect(firstStartIn(again(bench))).toBe(110);
  });

  test('records when tasks that ended meanwhile ran, so that their waiting times do not grow', () => {
    const bench = again(crashed());
    bench.members(W1);
    bench.now = 10_000;
    const started = { ...held(1, 1), elapsedMs: 9_000 };
    bench.receive(W1, { type: 'holding', tasks: [started], audit: 0 });
    bench.end(W1, { job: 1, task: 1, attempt: 1 } as never, { ...COMPLETED, value: 7 }, 2_000);
    bench.commit();
    bench.take();
    const timesIn = (of: DurableBench) => {
      const query = { id: 's-1', states: [], stage: undefined, from: 0, limit: 9 };
      of.receive(CLIENT, { type: 'listTasks', request: 8, ...query });
      const page = of.take().find((message) => message.type === 'taskPage')!;
      return page.value.tasks.find(({ index }) => index === 1);
    };
    expect(timesIn(bench)).toMatchObject({ startedMs: 2_000, runMs: 2_000 });
    expect(timesIn(again(bench))).toMatchObject({ startedMs: 2_000, runMs: 2_000 });
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
          row: 1,
          attributes: [],
        },
      ],
      left: [],
      owners: [],
      ownersVersion: 0,
      silentMs: undefined,
    });
    expect(bench.take()).toContainEqual({
      type: 'resume',
      previousIncarnations: [FORMER],
      audit: 0,
    });
  });
});

const TWO = { tasks: { count: 2, run: { sleep: 1 } } };

/** Both tasks were given to W1 long ago. */
function given(): DurableBench {
  const bench = new DurableBench();
  bench.members(W1, W2);
  bench.submit(TWO);
  bench.ask(W1, 1);
  bench.ask(W1, 1);
  bench.commit();
  bench.take();
  bench.now = 11 * retryMs;
  return bench;
}

function sweep(bench: DurableBench) {
  bench.scheduler.wake('sweep', 0, bench.now);
  return bench.take().filter(({ type }) => type === 'resume');
}

function counts(bench: DurableBench) {
  bench.commit();
  return summary(bench).tasks;
}

const givenBack = (task: number): MessageOf<'declined'> => ({
  type: 'declined',
  job: 1,
  stage: 0,
  probes: 0,
  placed: { task, attempt: 1 },
});

describe('a task that seems to run for long', () => {
  test('is audited occasionally, at the workers that should run it', () => {
    const bench = given();
    expect(sweep(bench)).toEqual([{ type: 'resume', previousIncarnations: [], audit: 1 }]);
    bench.now += retryMs;
    expect(sweep(bench)).toEqual([]);
    bench.now += 10 * retryMs;
    expect(sweep(bench)).toHaveLength(1);
  });

  test('is resent to a worker that does not know it, because it may be in flight', () => {
    const bench = given();
    sweep(bench);
    bench.receive(W1, { type: 'holding', tasks: [held(0, 1)], audit: 1 });
    bench.commit();
    expect(bench.take()).toMatchObject([{ type: 'run', task: 1, attempt: 1 }]);
    expect(counts(bench)).toMatchObject({ running: 2 });
  });

  test('waits again when its worker returns it', () => {
    const bench = given();
    sweep(bench);
    bench.receive(W1, { type: 'holding', tasks: [held(0, 1)], audit: 1 });
    bench.receive(W1, givenBack(1));
    expect(counts(bench)).toMatchObject({ running: 1, waiting: 1 });
    expect(bench.ask(W2, 1)).toMatchObject({ task: 1, attempt: 2 });
  });

  test('is unaffected by a delayed answer to an earlier audit', () => {
    const bench = given();
    sweep(bench);
    bench.now += 11 * retryMs;
    expect(sweep(bench)).toEqual([{ type: 'resume', previousIncarnations: [], audit: 2 }]);
    for (const audit of [0, 1]) bench.receive(W1, { type: 'holding', tasks: [], audit });
    expect(counts(bench)).toMatchObject({ running: 2 });
    expect(bench.take().filter(({ type }) => type === 'run')).toEqual([]);
  });

  test('is audited after records that are not durable yet, which may include the task', () => {
    const bench = given();
    sweep(bench);
    bench.receive(W1, { type: 'holding', tasks: [held(0, 1)], audit: 1 });
    bench.receive(W1, givenBack(1));
    bench.take();
    expect(bench.ask(W2, 1)).toBeUndefined();
    // Neither the delay for the disk nor a suspension of this process affects the worker.
    bench.now += 11 * retryMs;
    expect(sweep(bench)).toEqual([]);
    bench.commit();
    const sent = bench.take().filter(({ type }) => type === 'run' || type === 'resume');
    expect(sent.map(({ type }) => type)).toEqual(['run', 'resume', 'resume']);
  });

  test('is unaffected by an unrequested answer, or right after its assignment', () => {
    const bench = given();
    bench.receive(W1, { type: 'holding', tasks: [], audit: 1 });
    expect(counts(bench)).toMatchObject({ running: 2 });
    bench.submit(TWO, 'k2', 2);
    bench.ask(W1, 2);
    sweep(bench);
    bench.receive(W1, { type: 'holding', tasks: [held(0, 1), held(1, 1)], audit: 1 });
    expect(counts(bench)).toMatchObject({ running: 2 });
    expect(bench.scheduler.counters.lost).toBe(0);
  });
});

test('a new central cannot ask about matches of its predecessor, so workers with tasks are asked at once', () => {
  const bench = given();
  const next = 4 as Address;
  bench.receive(next, welcome());
  expect(bench.take().filter(({ type }) => type === 'resume')).toHaveLength(1);
  bench.receive(W1, { type: 'holding', tasks: [held(0, 1)], audit: 1 });
  expect(bench.take()).toMatchObject([{ type: 'run', task: 1, attempt: 1 }]);
  bench.now += retryMs;
  expect(sweep(bench)).toEqual([]);
});

describe('an attempt that has ended here, and perhaps not at its worker', () => {
  const kills = (bench: DurableBench) =>
    bench.take().flatMap((message) => (message.type === 'cancelTask' ? [message.task] : []));

  test('is killed again until the worker has reported its end, or that it never started', () => {
    const bench = new DurableBench();
    bench.members(W1);
    bench.submit({ timeLimit: '1m', tasks: { count: 2, run: { sleep: 1 } } });
    const [task] = [bench.ask(W1, 1)!, bench.ask(W1, 1)!];
    bench.commit();
    bench.now = 60_000;
    bench.scheduler.wake('timeLimit', 1, bench.now);
    bench.commit();
    expect(kills(bench)).toEqual([0, 1]);
    const sweepAgain = () => {
      bench.now += retryMs;
      bench.scheduler.wake('sweep', 0, bench.now);
      return kills(bench);
    };
    expect(sweepAgain()).toEqual([0, 1]);
    bench.end(W1, task, { ...COMPLETED, kind: 'cancelled' });
    bench.commit();
    expect(sweepAgain()).toEqual([1]);
    bench.receive(W1, givenBack(1));
    expect(sweepAgain()).toEqual([]);
  });

  test('is not killed at a worker that is away, but as soon as the worker returns', () => {
    const bench = given();
    bench.receive(CENTRAL, { ...joined(2, []), since: 1, left: [W1] } as never);
    bench.commit();
    expect(kills(bench)).toEqual([0, 1]);
    bench.now += retryMs;
    bench.scheduler.wake('sweep', 0, bench.now);
    expect(kills(bench)).toEqual([]);
    bench.receive(CENTRAL, { ...joined(3, [W1]), since: 2 } as never);
    bench.commit();
    expect(kills(bench)).toEqual([0, 1]);
  });
});

test('a job that ended before all workers had answered starts at once when it is retried later', () => {
  const bench = again(crashed());
  bench.members(W1);
  bench.receive(CLIENT, { type: 'cancelJob', request: 3, id: 's-1' });
  bench.commit();
  bench.receive(W1, { type: 'holding', tasks: [], audit: 0 });
  bench.take();
  const about = { tasks: undefined, failedOnly: undefined, asNew: undefined };
  bench.receive(CLIENT, { type: 'retryJob', request: 4, key: 'r', id: 's-1', ...about } as never);
  bench.commit();
  expect(bench.ask(W1, 1)).toBeDefined();
});

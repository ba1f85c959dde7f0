import { expect, it } from 'vitest';
import { type Explained, explanationOf } from './explain.js';

function whySentence(job: Explained, now: number): string {
  return explanationOf(job, { now, cutoff: undefined }).sentence;
}

function explained(job: object, more: object): Explained {
  const none = {
    waiting: [],
    probes: [],
    probesOut: 0,
    probesMoved: 0,
    placed: [],
    wastedMs: 0,
    central: undefined,
  };
  return {
    ...none,
    job: { id: 'a-1', classifiedBy: 'given', tasks: { running: 0 }, ...job },
    ...more,
  } as unknown as Explained;
}

const ENDED = { state: 'completed', startedMs: 100, endedMs: 900 };
const WAITS = { tasks: 10, p50: 50, p90: 200, max: 300 };

it('says from when tasks have waited, if earlier stages ended before', () => {
  const worker = { phase: 'worker', tasks: 10, meanMs: 100, maxMs: 300 };
  const stage = { phase: 'stage', tasks: 8, meanMs: 500, maxMs: 500 };
  expect(whySentence(explained(ENDED, { waits: WAITS, waitSums: [worker] }), 0)).toBe(
    'Completed after 900 ms: 100 ms until the first task started, and 90% of the tasks waited 200 ms or less; most of the waiting was for a worker.',
  );
  expect(whySentence(explained(ENDED, { waits: WAITS, waitSums: [stage, worker] }), 0)).toContain(
    '90% of the tasks waited 200 ms or less once ready; most of the waiting was for the stages before theirs',
  );
});

it('gives no percentile of one task', () => {
  const waits = { tasks: 1, p50: 100, p90: 100, max: 100 };
  const waitSums = [{ phase: 'worker', tasks: 1, meanMs: 100, maxMs: 100 }];
  expect(whySentence(explained(ENDED, { waits, waitSums }), 0)).toBe(
    'Completed after 900 ms: 100 ms until it started; most of the waiting was for a worker.',
  );
});

it('counts attempt numbers that were skipped', () => {
  const skippedOf = (skippedNumbers?: number) =>
    explanationOf(explained(ENDED, { skippedNumbers }), { now: 0, cutoff: undefined }).parts.filter(
      ({ label }) => label === 'skipped',
    );
  expect(skippedOf()).toEqual([]);
  expect(skippedOf(2)).toEqual([
    { label: 'skipped', lines: [expect.stringMatching(/^2 attempt numbers were not used after a restart/)] },
  ]);
});

it('says why the task failed that ended last, and not why one that completed failed before', () => {
  const lastOf = (state: string) => {
    const last = {
      task: 3,
      state,
      attempts: 2,
      worker: 'w1',
      waitedMs: 100,
      ranMs: 800,
      error: 'exit code 1',
    };
    const job = explained({ ...ENDED, state }, { last });
    return explanationOf(job, { now: 0, cutoff: undefined }).parts.find(({ label }) => label === 'last')!
      .lines[0];
  };
  expect(lastOf('failed')).toMatch(/^task 3 ended last.* on w1 in attempt 2; it failed: exit code 1$/);
  expect(lastOf('completed')).toMatch(/ on w1 in attempt 2$/);
});

it('says when a job begins', () => {
  const wait = { stage: 'tasks', index: 0, reason: 'begin', tasks: 1, waitedMs: 10_000 };
  const job = { state: 'waiting', beginAt: 125_000 };
  expect(whySentence(explained(job, { waiting: [wait] }), 5_000)).toBe(
    '1 task has waited 10 s: their job begins later (--begin): in 2 min 0 s.',
  );
});

it('counts pilots and other tasks of a job on hold together', () => {
  const wait = { stage: 'tasks', index: 0, reason: 'held', waitedMs: 10_000 };
  const waiting = [
    { ...wait, tasks: 1 },
    { ...wait, tasks: 19 },
    { ...wait, reason: 'stage', tasks: 7 },
  ];
  expect(whySentence(explained({ state: 'waiting' }, { waiting, central: { needs: [] } }), 0)).toMatch(
    /^20 tasks have waited 10 s: their job is on hold/,
  );
});

it('uses the explanation of central for the largest group of waiting tasks', () => {
  const wait = { stage: 'tasks', index: 0, waitedMs: 10_000 };
  const waiting = [
    { ...wait, reason: 'matching', tasks: 1 },
    { ...wait, reason: 'user-limit', tasks: 6 },
  ];
  const ahead = { jobs: 0, tasks: 0, workMs: 0 };
  const needs = [
    { stage: 0, tasks: 1, ahead, demand: {} },
    { stage: 0, tasks: 6, ahead, demand: {}, reason: 'user-limit', why: 'user bob has 4 CPUs of the 4' },
  ];
  expect(whySentence(explained({ state: 'running' }, { waiting, central: { needs } }), 0)).toMatch(
    /^6 tasks have waited 10 s: .*; user bob has 4 CPUs of the 4\.$/,
  );
});

it('does not report tasks of later stages as a problem', () => {
  const wait = { stage: 'load', index: 1, reason: 'stage', tasks: 40, waitedMs: 0 };
  const job = { state: 'running', tasks: { running: 5 } };
  expect(whySentence(explained(job, { waiting: [wait] }), 0)).toBe(
    '5 tasks run; 40 tasks wait for earlier stages to complete.',
  );
  const ready = { ...wait, stage: 'parse', index: 0, reason: 'matching', tasks: 2, waitedMs: 3_000 };
  expect(whySentence(explained(job, { waiting: [wait, ready] }), 0)).toMatch(/^2 tasks have waited 3 s: /);
});

it('says what the task that it is asked for lends', () => {
  const task = { task: 3, lentTo: { job: 'b2-7', task: 4 }, pausedMs: 2_000 };
  const running = { state: 'running', tasks: { running: 2 } };
  expect(whySentence(explained(running, { task }), 0)).toBe(
    '2 tasks run, and none waits. Task 3 is paused for 2 s while task b2-7/4 uses its CPU.',
  );
});

import { describe, expect, test } from 'vitest';
import type { ArrivingJob } from '../estimator.js';
import { SLEARN_SETTINGS } from '../settings.js';
import { Scoreboard } from './scoreboard.js';

const SETTINGS = { ...SLEARN_SETTINGS, cutoffMs: 10_000 };

/** Jobs one after another, each with the run times of its tasks. */
function scored(names: readonly string[], jobs: readonly (readonly [Partial<ArrivingJob>, number[]])[]) {
  const board = new Scoreboard(names, SETTINGS, 1);
  jobs.forEach(([traits, runsMs], id) => {
    const tasks = runsMs.length;
    const trueMeanMs = runsMs.reduce((sum, ms) => sum + ms, 0) / tasks;
    const submittedAt = id * 1e6;
    board.arrived(id, {
      name: 'a',
      user: 'ada',
      tasks,
      startable: tasks,
      submittedAt,
      trueMeanMs,
      ...traits,
    });
    board.ended(id, { completed: true, runtimeMs: Math.max(...runsMs), runsMs });
  });
  return board.results();
}

const alike = (ms: number, tasks: number) => new Array<number>(tasks).fill(ms);

describe('shadow estimators', () => {
  test('are scored by the estimates that they made when each job arrived', () => {
    const jobs = [
      [{}, alike(20_000, 10)],
      [{}, alike(20_000, 10)],
      [{}, alike(1_000, 10)],
    ] as const;
    const [oracle, pilot, history] = scored(
      ['oracle', 'pilot', 'history'],
      jobs.map(([t, r]) => [t, r]),
    );
    expect(oracle).toMatchObject({
      estimator: 'oracle',
      jobs: 3,
      estimated: 3,
      errorPercent: { p50: 0, p90: 0, mean: 0 },
      misclassifiedJobsPercent: 0,
      misclassifiedTaskSecondsPercent: 0,
      delaySeconds: { mean: 0 },
    });
    // All tasks are alike, so one pilot suffices; a long job is detected when its pilot passes the cutoff.
    expect(pilot).toMatchObject({ sampled: 3, pilots: 3, misclassifiedJobsPercent: 0 });
    expect(pilot!.delaySeconds!.mean).toBeCloseTo((10 + 10 + 1) / 3, 6);
    // Had no estimate for the first, was right about the second, and off by a factor of 19 for the third.
    expect(history).toMatchObject({ estimated: 2, sampled: 0, delaySeconds: { mean: 0 } });
    expect(history!.errorPercent.mean).toBeCloseTo((0 + 1_900) / 2, 6);
    expect(history!.misclassifiedJobsPercent).toBeCloseTo(200 / 3, 6);
    expect(history!.misclassifiedTaskSecondsPercent).toBeCloseTo((100 * 210) / 410, 6);
  });

  test('are scored by size of the job, and by number of earlier similar jobs', () => {
    const [oracle] = scored(
      ['oracle'],
      [
        [{ logicalName: 'l' }, alike(1_000, 1)],
        [{ logicalName: 'l', name: 'other' }, alike(1_000, 5)],
        [{ user: undefined }, alike(1_000, 2_000)],
      ],
    );
    const counts = (groups: readonly { group: string; jobs: number }[]) =>
      groups.map(({ group, jobs }) => [group, jobs]);
    expect(counts(oracle!.bySize)).toEqual([
      ['1–2 tasks', 1],
      ['3–9 tasks', 1],
      ['1,000 tasks and more', 1],
    ]);
    expect(counts(oracle!.byRecurrence)).toEqual([
      ['new', 1],
      ['seen 1–9 times', 1],
      ['without a name', 1],
    ]);
  });

  test('ignore a job that did not complete', () => {
    const board = new Scoreboard(['history'], SETTINGS, 1);
    board.arrived('x', { name: 'a', tasks: 2, startable: 2, submittedAt: 0 });
    board.ended('x', { completed: false, runtimeMs: 5, runsMs: [3] });
    board.ended('never arrived', { completed: true, runtimeMs: 5, runsMs: [3] });
    expect(board.results()[0]).toMatchObject({ jobs: 0, delaySeconds: null, errorPercent: { p50: null } });
  });

  test('draw the same pilots with the same seed', () => {
    const jobs = Array.from({ length: 20 }, (_, i): [object, number[]] => [
      {},
      Array.from({ length: 50 }, (_, task) => 100 + ((i * 37 + task * 61) % 97)),
    ]);
    expect(scored(['pilot', 'hybrid'], jobs)).toEqual(scored(['pilot', 'hybrid'], jobs));
  });

  test('continue from their saved state', () => {
    const before = new Scoreboard(['history'], SETTINGS, 1);
    const job = { name: 'a', tasks: 1, startable: 1, submittedAt: 0 };
    before.arrived(1, job);
    before.ended(1, { completed: true, runtimeMs: 5, runsMs: [5_000] });
    const after = new Scoreboard(['history'], SETTINGS, 1, before.save());
    after.arrived(1, job);
    after.ended(1, { completed: true, runtimeMs: 5, runsMs: [5_000] });
    expect(after.results()[0]).toMatchObject({ estimated: 1, errorPercent: { p50: 0 } });
  });
});

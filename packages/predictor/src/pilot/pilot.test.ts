import { describe, expect, test } from 'vitest';
import { complianceSuite } from '../compliance.fixture.js';
import type { Evidence, Prediction, SamplePlan } from '../estimator.js';
import { type EstimatorSettings, SLEARN_SETTINGS } from '../settings.js';
import { Pilot } from './pilot.js';

const CUTOFF_MS = 1_000;

complianceSuite('pilot, adaptive', () => new Pilot({ ...SLEARN_SETTINGS, pilotRatio: 'adaptive' }));
complianceSuite('pilot, weighed', () => new Pilot({ ...SLEARN_SETTINGS, pilotPrior: true }));
complianceSuite('pilot, few', () => new Pilot({ ...SLEARN_SETTINGS, pilotsMax: 3, pilotQuorum: 0.5 }));

function jobOf(tasks: number) {
  return { name: 'a', tasks, startable: tasks, submittedAt: 0 };
}

function plan(tasks: number, settings: Partial<EstimatorSettings> = {}): Prediction {
  return new Pilot({ ...SLEARN_SETTINGS, ...settings }).predict(jobOf(tasks));
}

describe('the number of pilots', () => {
  test.each([1, 2])('is 0 for a job of %d tasks', (tasks) => {
    expect(plan(tasks)).toEqual({ kind: 'thin' });
  });

  test.each([
    [3, 1],
    [49, 1],
    [50, 2],
    [100, 3],
    [10_000, 300],
  ])('3%% of %d tasks are %d', (tasks, pilots) => {
    expect(plan(tasks)).toMatchObject({ kind: 'sample', pilots });
  });

  test('is at most the cap and the number of startable tasks', () => {
    expect(plan(10_000, { pilotsMax: 3 })).toMatchObject({ pilots: 3 });
    const staged = { ...jobOf(10_000), startable: 2 };
    expect(new Pilot({ ...SLEARN_SETTINGS, pilotRatio: 1 }).predict(staged)).toMatchObject({ pilots: 2 });
  });

  test('is recorded with the adaptive ratio', () => {
    expect(plan(1_000, { pilotRatio: 'adaptive' })).toMatchObject({ pilots: 30, note: 3 });
  });

  test('follows completion times over the total run time of a job, not over that of one task', () => {
    const pilot = new Pilot({ ...SLEARN_SETTINGS, pilotRatio: 'adaptive' });
    // The jobs at 2% are ten times as wide, and take twice as long.
    for (const [tasks, runtimeMs] of [
      [10, 10],
      [100, 20],
      [10, 10],
    ] as const)
      for (let i = 0; i < 100; i++) {
        const job = jobOf(tasks);
        const runsMs = new Array<number>(tasks).fill(1);
        pilot.learn({ job, prediction: pilot.predict(job), completed: true, long: false, runtimeMs, runsMs });
      }
    expect(pilot.predict(jobOf(1_000))).toMatchObject({ pilots: 10, note: 1 });
  });

  test('a job without information is estimated by recently ended jobs', () => {
    const pilot = new Pilot(SLEARN_SETTINGS);
    const prediction = pilot.predict(jobOf(3));
    pilot.learn({ job: jobOf(3), prediction, completed: true, long: false, runtimeMs: 9, runsMs: [1, 2, 9] });
    expect(pilot.predict(jobOf(1))).toMatchObject({ kind: 'thin', guess: { meanMs: 4 } });
    expect(pilot.predict(jobOf(5))).toMatchObject({ kind: 'sample', guess: { meanMs: 4 } });
  });
});

describe('the verdict of pilots', () => {
  const nothing: Evidence = { pilots: 4, runsMs: [], failedRunsMs: [], failed: 0, elapsedMs: [] };
  const sample: SamplePlan = { kind: 'sample', pilots: 4 };
  const weigh = (evidence: Partial<Evidence>, settings: Partial<EstimatorSettings> = {}) =>
    new Pilot({ ...SLEARN_SETTINGS, ...settings }).weigh(
      jobOf(100),
      sample,
      { ...nothing, ...evidence },
      CUTOFF_MS,
    );

  test('waits while none has started', () => {
    expect(weigh({})).toEqual({ kind: 'wait', againInMs: Number.POSITIVE_INFINITY });
  });

  test('is their mean, with its variance, when all have ended', () => {
    expect(weigh({ runsMs: [100, 200, 300, 400] })).toEqual({
      kind: 'decided',
      estimate: { meanMs: 250, varianceMs2: 50_000 / 3 / 4, by: '4 pilots' },
    });
  });

  test('waits until the elapsed times would reach the cutoff', () => {
    // 4 · 1,000 less 500 and 2 · 250 leaves 3,000, shared by two running pilots.
    expect(weigh({ runsMs: [500], elapsedMs: [250, 250] })).toEqual({ kind: 'wait', againInMs: 1_500 });
  });

  test('is `long` as soon as elapsed times reach the cutoff', () => {
    const verdict = weigh({ runsMs: [500], elapsedMs: [1_750, 1_750] });
    expect(verdict).toEqual({
      kind: 'decided',
      estimate: { meanMs: 1_000, by: 'the elapsed time of 4 pilots' },
      provisional: true,
    });
  });

  test('is not `long` because of one pilot past the cutoff', () => {
    expect(weigh({ runsMs: [100, 100], elapsedMs: [1_200, 1_100] }).kind).toBe('wait');
  });

  test('uses recent long jobs for a job that is only known to be long', () => {
    const pilot = new Pilot(SLEARN_SETTINGS);
    const ended = { job: jobOf(3), prediction: sample, completed: true, runtimeMs: 9_000 };
    pilot.learn({ ...ended, long: true, runsMs: [5_000, 7_000] });
    pilot.learn({ ...ended, long: false, runsMs: [10, 20] });
    const evidence = { ...nothing, elapsedMs: [1_000, 1_000, 1_000, 1_000] };
    expect(pilot.weigh(jobOf(100), sample, evidence, CUTOFF_MS)).toMatchObject({
      estimate: { meanMs: 6_000 },
    });
  });

  test('follows half of the pilots if configured, unless the others have run for longer', () => {
    const half = { pilotQuorum: 0.5 };
    expect(weigh({ runsMs: [100] }, half).kind).toBe('wait');
    expect(weigh({ runsMs: [100, 300], elapsedMs: [50, 50] }, half)).toMatchObject({
      estimate: { meanMs: 200, by: '2 of 4 pilots' },
    });
    expect(weigh({ runsMs: [100, 300], elapsedMs: [400, 800] }, half)).toMatchObject({
      estimate: { meanMs: 400 },
    });
  });

  test('ignores failed pilots, unless all fail', () => {
    expect(weigh({ runsMs: [100, 300], failed: 2, failedRunsMs: [9, 9] })).toMatchObject({
      estimate: { meanMs: 200, by: '2 pilots' },
    });
    expect(weigh({ failed: 4, failedRunsMs: [10, 20, 30, 40] })).toMatchObject({
      estimate: { meanMs: 25, by: '4 failed runs of pilots' },
    });
    expect(weigh({ failed: 4 })).toMatchObject({ estimate: { meanMs: 0, by: 'pilots that never ran' } });
  });

  describe('pilots combined with recent jobs', () => {
    /** After twenty jobs of 100 ms, whose tasks took a half to twice as long. */
    const pilot = new Pilot({ ...SLEARN_SETTINGS, pilotPrior: true });
    for (let job = 0; job < 20; job++) {
      const ended = { job: jobOf(6), prediction: sample, completed: true, long: false, runtimeMs: 500 };
      pilot.learn({ ...ended, runsMs: [50, 50, 50, 100, 150, 200] });
    }
    const said = (evidence: Partial<Evidence>) =>
      pilot.weigh(jobOf(100), sample, { ...nothing, ...evidence }, CUTOFF_MS);

    test('move a job that looks unusual towards the others', () => {
      const verdict = said({ pilots: 1, runsMs: [300] });
      if (verdict.kind !== 'decided') throw new Error('no decision');
      expect(verdict.estimate.by).toBe('1 pilot, and recently ended jobs');
      expect(verdict.estimate.meanMs).toBeGreaterThan(100);
      expect(verdict.estimate.meanMs).toBeLessThan(120);
    });

    test('keep the result of the pilots for a job unlike any other', () => {
      expect(said({ pilots: 1, runsMs: [900] })).toMatchObject({ estimate: { meanMs: 900, by: '1 pilot' } });
    });

    test('do not overrule the elapsed time of running pilots', () => {
      const verdict = said({ pilots: 1, elapsedMs: [CUTOFF_MS] });
      expect(verdict).toMatchObject({ provisional: true, estimate: { meanMs: CUTOFF_MS } });
    });

    test('do not require recent jobs', () => {
      const evidence = { ...nothing, pilots: 1, runsMs: [2_000] };
      expect(pilot.weighPilotsOnly(jobOf(100), sample, evidence, CUTOFF_MS)).toMatchObject({
        estimate: { meanMs: 2_000, by: '1 pilot' },
      });
    });
  });
});

import { describe, expect, test } from 'vitest';
import type { ArrivingJob, EndedJob, Evidence, Prediction, SamplePlan } from '../estimator.js';
import { SLEARN_SETTINGS } from '../settings.js';
import { Hybrid } from './hybrid.js';

const CUTOFF_MS = 10_000;
const wide: ArrivingJob = { name: 'a', user: 'ada', tasks: 40, startable: 40, submittedAt: 0 };
const thin: ArrivingJob = { ...wide, tasks: 2, startable: 2 };

function ended(job: ArrivingJob, meanMs: number, prediction: Prediction = { kind: 'unknown' }): EndedJob {
  const runsMs = Array.from({ length: job.tasks }, (_, i) => meanMs * (i % 2 === 0 ? 0.9 : 1.1));
  return { job, prediction, completed: true, long: meanMs >= CUTOFF_MS, runtimeMs: 2 * meanMs, runsMs };
}

function trained(job: ArrivingJob, ...meansMs: number[]): Hybrid {
  const hybrid = new Hybrid(SLEARN_SETTINGS);
  for (const meanMs of meansMs) hybrid.learn(ended(job, meanMs));
  return hybrid;
}

function pilotsOf(...runsMs: number[]): Evidence {
  return { pilots: runsMs.length, runsMs, failedRunsMs: [], failed: 0, elapsedMs: [] };
}

describe('hybrid', () => {
  test('equals pilot sampling until there is history', () => {
    const hybrid = new Hybrid(SLEARN_SETTINGS);
    expect(hybrid.predict(thin).kind).toBe('thin');
    const plan = hybrid.predict(wide) as SamplePlan;
    expect(plan).toMatchObject({ kind: 'sample', pilots: 1, guess: undefined });
    expect(hybrid.weigh(wide, plan, pilotsOf(700), CUTOFF_MS)).toMatchObject({ estimate: { meanMs: 700 } });
  });

  test('classifies jobs that are too small for pilots by history', () => {
    const prediction = trained(thin, 50_000, 50_000).predict(thin);
    expect(prediction).toMatchObject({ kind: 'estimate', estimate: { meanMs: 50_000 } });
  });

  test('uses history as a guess while the pilots run, and lets them correct it', () => {
    const hybrid = trained(wide, 1_000, 1_000, 1_000);
    const plan = hybrid.predict(wide) as SamplePlan;
    expect(plan.guess?.meanMs).toBeCloseTo(1_000, 6);
    const near = hybrid.weigh(wide, plan, pilotsOf(1_100), CUTOFF_MS);
    if (near.kind !== 'decided') throw new Error('no decision');
    expect(near.estimate.by).toBe('1 pilot and history');
    expect(near.estimate.meanMs).toBeGreaterThan(1_000);
    expect(near.estimate.meanMs).toBeLessThan(1_100);
    const far = hybrid.weigh(wide, plan, pilotsOf(60_000), CUTOFF_MS);
    expect(far.kind === 'decided' && far.estimate.meanMs).toBeGreaterThan(59_000);
  });

  test('a pilot that runs beyond the cutoff makes a job long, regardless of history', () => {
    const hybrid = trained(wide, 1_000, 1_000, 1_000);
    const plan = hybrid.predict(wide) as SamplePlan;
    const running = { ...pilotsOf(), pilots: 1, elapsedMs: [12_000] };
    const verdict = hybrid.weigh(wide, plan, running, CUTOFF_MS);
    expect(verdict.kind === 'decided' && verdict.estimate.meanMs).toBeGreaterThanOrEqual(12_000);
    const withOneEnded = { ...pilotsOf(9_000), pilots: 2, elapsedMs: [12_000] };
    const early = hybrid.weigh(wide, { ...plan, pilots: 2 }, withOneEnded, CUTOFF_MS);
    expect(early.kind === 'decided' && early.estimate.meanMs).toBeGreaterThanOrEqual(10_500);
  });

  test('combines pilots with recent jobs if the job has no history, otherwise with its history', () => {
    const hybrid = new Hybrid({ ...SLEARN_SETTINGS, pilotPrior: true, features: ['user'] });
    for (let job = 0; job < 20; job++) hybrid.learn(ended(wide, 1_000));
    const said = (job: ArrivingJob): string | undefined => {
      const verdict = hybrid.weigh(job, hybrid.predict(job) as SamplePlan, pilotsOf(1_300), CUTOFF_MS);
      return verdict.kind === 'decided' ? verdict.estimate.by : undefined;
    };
    expect(said({ ...wide, user: 'bob' })).toBe('1 pilot, and recently ended jobs');
    expect(said(wide)).toBe('1 pilot and history');
  });

  test('rejects history of another version without using any of it', () => {
    const hybrid = trained(wide, 1_000, 1_000);
    const saved = hybrid.save() as { history: object };
    const newer = { ...saved, history: { ...saved.history, schema: 'goshawk.history/9' } };
    const before = hybrid.predict(wide);
    expect(() => hybrid.load(newer)).toThrow('newer version');
    expect(hybrid.predict(wide)).toEqual(before);
  });
});

describe('auto', () => {
  const auto = (settings = {}): Hybrid => new Hybrid({ ...SLEARN_SETTINGS, ...settings }, 'auto');

  test('prefers the submitter’s estimate to all others', () => {
    const knows = auto();
    for (let run = 0; run < 20; run++) knows.learn(ended(wide, 1_000));
    for (const job of [wide, thin])
      expect(knows.predict({ ...job, givenMs: 60_000 })).toEqual({
        kind: 'estimate',
        estimate: { meanMs: 60_000, by: 'given' },
      });
  });

  test('samples a job without any information, and classifies one with few tasks as short', () => {
    expect(auto().predict(wide)).toMatchObject({ kind: 'sample', pilots: 1 });
    expect(auto().predict(thin)).toMatchObject({ kind: 'thin' });
  });

  test('uses history alone once ten runs of that name have shown that it is accurate', () => {
    const estimator = auto();
    for (let run = 0; run < 9; run++) estimator.learn(ended(thin, 50_000));
    expect(estimator.predict(thin)).toMatchObject({ kind: 'thin', guess: { meanMs: 50_000 } });
    estimator.learn(ended(thin, 50_000));
    expect(estimator.predict(thin)).toMatchObject({ kind: 'estimate', estimate: { meanMs: 50_000 } });
    // A wide job needs no pilots either, until history is wrong.
    expect(estimator.predict({ ...wide, name: 'a' }).kind).toBe('estimate');
    estimator.learn(ended(thin, 500_000));
    expect(estimator.predict({ ...wide, name: 'a' }).kind).toBe('sample');
  });

  test('does not rely on history of a user alone, nor on inaccurate history', () => {
    const estimator = auto();
    for (let run = 0; run < 30; run++) estimator.learn(ended(wide, 1_000));
    expect(estimator.predict({ ...thin, name: 'other' }).kind).toBe('thin');
    const erred = auto();
    for (let run = 0; run < 30; run++) erred.learn(ended(thin, run % 2 === 0 ? 1_000 : 30_000));
    expect(erred.predict(thin).kind).toBe('thin');
  });

  test('takes no pilots for a policy that does not need them', () => {
    const estimator = auto({ sampling: false });
    expect(estimator.predict(wide)).toEqual({ kind: 'unknown' });
    estimator.learn(ended(wide, 1_000));
    expect(estimator.predict(wide)).toMatchObject({ kind: 'estimate', estimate: { meanMs: 1_000 } });
  });

  test('continues from its saved state, but not from that of hybrid', () => {
    const before = auto();
    for (let run = 0; run < 10; run++) before.learn(ended(thin, 50_000));
    const after = auto();
    after.load(before.save());
    expect(after.predict(thin)).toEqual(before.predict(thin));
    expect(() => after.load(new Hybrid(SLEARN_SETTINGS).save())).toThrow('auto');
  });
});

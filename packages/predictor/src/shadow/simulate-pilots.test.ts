import { describe, expect, test } from 'vitest';
import type { Evidence, SamplePlan, Verdict } from '../estimator.js';
import { makeEstimator } from '../estimators.js';
import { SLEARN_SETTINGS } from '../settings.js';
import { simulatePilots } from './simulate-pilots.js';

const job = { name: 'a', tasks: 100, startable: 100, submittedAt: 0 };
const plan: SamplePlan = { kind: 'sample', pilots: 3 };
const pilot = () => makeEstimator('pilot', SLEARN_SETTINGS, () => 0);

describe('hypothetical pilots', () => {
  test('decide when the last of them ends', () => {
    const played = simulatePilots(pilot(), job, plan, [300, 100, 200], 10_000);
    expect(played).toMatchObject({ delayMs: 300, estimate: { meanMs: 200 } });
  });

  test('decide earlier when their elapsed time is sufficient', () => {
    // At 7,000 ms, 1,000 + 7,000 + 7,000 over three reaches the cutoff.
    const played = simulatePilots(pilot(), job, plan, [1_000, 50_000, 60_000], 5_000);
    expect(played?.delayMs).toBeCloseTo(7_000, 0);
    expect(played?.estimate.meanMs).toBeGreaterThanOrEqual(5_000);
  });

  test('of 0 ms decide immediately', () => {
    expect(simulatePilots(pilot(), job, plan, [0, 0, 0], 5_000)).toMatchObject({ delayMs: 0 });
  });

  test('limit the calls of an estimator that requests one every millisecond of a day', () => {
    let asked = 0;
    const eager = Object.assign(pilot(), {
      weigh: (_job: unknown, _plan: unknown, { runsMs, pilots }: Evidence): Verdict => {
        if (++asked > 100_000) throw new Error('it is still asked');
        return runsMs.length < pilots
          ? { kind: 'wait', againInMs: 1 }
          : { kind: 'decided', estimate: { meanMs: 1, by: 'it' } };
      },
    });
    expect(simulatePilots(eager, job, plan, [1_000, 2_000, 86_400_000], 5_000)).toMatchObject({
      delayMs: 86_400_000,
    });
  });

  test('end if an estimator never decides', () => {
    const never = Object.assign(pilot(), {
      weigh: () => ({ kind: 'wait', againInMs: Number.POSITIVE_INFINITY }) as const,
    });
    expect(simulatePilots(never, job, plan, [100, 200, 300], 5_000)).toBeUndefined();
  });
});

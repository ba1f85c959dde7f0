import { expect, test } from 'vitest';
import { CARBYNE_POLICIES } from '../carbyne/index.js';
import { trialPolicy } from './comparison.js';
import { Fairness } from './fairness.js';
import { runTrial } from './trial.js';

/** Two jobs of two tasks each, for two minutes; a task takes half of the only worker. */
function fairnessOf(policy: 'drf' | 'srtf'): Fairness {
  const fairness = new Fairness();
  const job = (durationMs: number) => ({
    arriveMs: 0,
    stages: [{ tasks: 2, demand: [1, 500], durationMs, parents: [] }],
  });
  runTrial({
    jobs: [job(60_000), job(120_000)],
    resources: ['cpu'],
    workers: [[Number.POSITIVE_INFINITY, 1_000]],
    policy: trialPolicy(CARBYNE_POLICIES[policy], { quantumMs: 0 }, 1),
    observe: (from, until, books) => fairness.observe(from, until, books),
  });
  return fairness;
}

test('where one job has everything and another nothing, the index of two is a half; where both have a half, it is 1', () => {
  expect(fairnessOf('srtf').byNeed()).toEqual({ mean: 5 / 6, min: 0.5, max: 1 });
  expect(fairnessOf('drf').byNeed().min).toBe(1);
});

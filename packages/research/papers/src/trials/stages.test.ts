import { expect, test } from 'vitest';
import { runStagedTrial } from './stages.js';
import { trialPolicy } from './trial.js';

/** Two jobs with two tasks each, of one and two minutes; a task takes half of the only machine. */
function tried(policy: string) {
  const job = (seconds: number) => ({
    submitSeconds: 0,
    durationsSeconds: Float64Array.of(seconds, seconds),
    meanSeconds: seconds,
    stages: [{ name: 's', after: [], tasks: 2, demand: { cpu: 1 } }],
  });
  const cluster = { machines: 1, machine: { cpu: 2 } };
  return runStagedTrial([job(60), job(120)], cluster, trialPolicy(policy, { quantumMs: 0 }), 1);
}

test('the fairness index of two jobs is one half if one has everything, and 1 if both have half', () => {
  const srtf = tried('srtf');
  expect(srtf.runtimeSeconds).toEqual([60, 180]);
  expect(srtf.results.fairness.byNeed).toEqual({ mean: 5 / 6, min: 0.5, windows: 3 });
  expect(srtf.results.fairness.raw!.min).toBe(0.5);
  const drf = tried('drf');
  expect(drf.runtimeSeconds).toEqual([120, 240]);
  expect(drf.results.fairness.byNeed!.min).toBe(1);
});

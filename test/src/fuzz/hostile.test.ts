import { expect, test } from 'vitest';
import { playHostile } from './hostile-run.js';

test.each([
  ['worker 15', 'worker', 'a worker reports a run with a huge demand'],
  ['scheduler 1218', 'scheduler', 'a scheduler sends a match with the highest whole number'],
] as const)('seed %s, from a hostile %s, breaks nothing again: %s', (seed, role, _) => {
  expect(() => playHostile(seed, role)).not.toThrow();
});

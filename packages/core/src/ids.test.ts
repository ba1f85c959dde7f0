import { expect, test } from 'vitest';
import type { JobNumber, TaskIndex } from './ids.js';

test('the compiler distinguishes task numbers from job numbers', () => {
  const named = (job: JobNumber): number => job;
  const task: TaskIndex = 3;
  // @ts-expect-error: a number of another kind
  expect(named(task)).toBe(3);
  expect(named(3)).toBe(3);
});

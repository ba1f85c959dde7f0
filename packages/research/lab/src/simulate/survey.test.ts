import { packed } from '@goshawk/traces';
import { expect, it } from 'vitest';
import { survey } from './survey.js';

const workload = { name: 'w', tallied: [], sha256: async () => 'hash' };
const batch = (submitSeconds: number, tasks: number) =>
  packed([{ submitSeconds, durationsSeconds: new Float64Array(tasks).fill(2), meanSeconds: 2 }]);

it('covers all batches in order', async () => {
  const surveyed = await survey(workload, [batch(5, 3), batch(7, 1)]);
  expect(surveyed).toMatchObject({
    record: { name: 'w', sha256: 'hash', jobs: 2, tasks: 4, taskSeconds: 8, spanSeconds: 2 },
    firstSubmitSeconds: 5,
    packed: { submitSeconds: Float64Array.of(5, 7), ends: Float64Array.of(3, 4) },
  });
  expect(surveyed.countWithin(1, 2)).toBe(1);
});

it('keeps jobs that are in memory, and at most 64 MiB of others', async () => {
  const half = 4 * 1024 * 1024;
  expect((await survey(workload, [batch(0, 2 * half)])).packed).toBeDefined();
  expect((await survey(workload, [batch(0, half), batch(0, half - 100)])).packed).toBeDefined();
  expect((await survey(workload, [batch(0, half), batch(0, half)])).packed).toBeUndefined();
});

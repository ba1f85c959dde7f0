import { expect, it } from 'vitest';
import { jobOf } from '../job.js';
import { type PackedJobs, packed } from '../packed-jobs.js';
import { Tally } from '../tally.js';
import { sinceTheFirst } from './clock-time.js';

it.each([
  [10, 1],
  [3, 2],
])('times count from the first submission, with at most %d tasks in memory', async (heldMax, reads) => {
  let started = 0;
  async function* read(tally: Tally): AsyncGenerator<PackedJobs> {
    started++;
    for (const seconds of [1_000_030, 1_000_000.5, 1_000_010]) {
      tally.add({ code: 'rows', what: 'rows' });
      yield packed([jobOf(seconds, Float64Array.of(1, 2))]);
    }
  }
  const tally = new Tally();
  const times: number[] = [];
  for await (const { submitSeconds } of sinceTheFirst(read, tally, heldMax)) times.push(...submitSeconds);
  expect(times).toEqual([29.5, 0, 9.5]);
  expect(started).toBe(reads);
  expect(tally.list()).toMatchObject([{ count: 3 }]);
});

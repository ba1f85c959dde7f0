import type { PackedJobs } from '../packed-jobs.js';

/** Converts submission times from calendar times to times relative to the first one. */
export async function* sinceTheFirst(batches: AsyncIterable<PackedJobs>): AsyncGenerator<PackedJobs> {
  const all: PackedJobs[] = [];
  let first = Number.POSITIVE_INFINITY;
  for await (const batch of batches) {
    all.push(batch);
    for (const seconds of batch.submitSeconds) first = Math.min(first, seconds);
  }
  for (const batch of all) {
    const { submitSeconds } = batch;
    // In microseconds, so that the difference of two times has no extra digits.
    for (let i = 0; i < submitSeconds.length; i++)
      submitSeconds[i] = Math.round((submitSeconds[i]! - first) * 1e6) / 1e6;
    yield batch;
  }
}

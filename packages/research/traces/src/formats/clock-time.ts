import { setImmediate } from 'node:timers/promises';
import type { PackedJobs } from '../packed-jobs.js';
import { Tally } from '../tally.js';

/** Files with more tasks are read twice. */
const HELD_TASKS_MAX = 32_000_000;

/**
 * Converts submission times from calendar times to times relative to the first one.
 *
 * @param read reads the file from its start
 */
export async function* sinceTheFirst(
  read: (tally: Tally) => AsyncIterable<PackedJobs>,
  tally = new Tally(),
  heldTasksMax = HELD_TASKS_MAX,
): AsyncGenerator<PackedJobs> {
  let held: PackedJobs[] | undefined = [];
  let tasks = 0;
  let first = Number.POSITIVE_INFINITY;
  for await (const batch of read(tally)) {
    tasks += batch.durationsSeconds.length;
    if (tasks > heldTasksMax) held = undefined;
    held?.push(batch);
    for (const seconds of batch.submitSeconds) first = Math.min(first, seconds);
    // Signals are delivered only during a pause.
    await setImmediate();
  }
  for await (const batch of held ?? read(new Tally())) {
    const { submitSeconds } = batch;
    // In microseconds, so that the difference of two times has no extra digits.
    for (let i = 0; i < submitSeconds.length; i++)
      submitSeconds[i] = Math.round((submitSeconds[i]! - first) * 1e6) / 1e6;
    yield batch;
  }
}

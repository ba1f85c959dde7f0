import type { Millis } from '@goshawk/core';

/** Clocks that are read one after the other, and kept right by small steps, differ by less. */
const STEADY_MS = 50;

/**
 * What to add to the process's clock for the wall clock. It stays as it is while both agree, so that the times of a job, and
 * the order of jobs, are the same whenever somebody asks.
 *
 * @param read the wall clock minus the process's clock, now
 */
export function steadyOffset(read: () => Millis): () => Millis {
  let held = read();
  return () => {
    const offset = read();
    if (Math.abs(offset - held) > STEADY_MS) held = offset;
    return held;
  };
}

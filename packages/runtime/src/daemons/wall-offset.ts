import type { Millis } from '@goshawk/core';

/** Smaller differences stem from reading two clocks in sequence and from gradual clock corrections. */
const JITTER_MS = 50;

/**
 * Returns the offset from the process clock to the wall clock. It stays constant while both agree, so that
 * the times and order of jobs do not change between queries.
 * @param read the current offset
 */
export function steadyOffset(read: () => Millis): () => Millis {
  let held = read();
  return () => {
    const offset = read();
    if (Math.abs(offset - held) > JITTER_MS) held = offset;
    return held;
  };
}

import type { Millis } from '@goshawk/core';

/** A pause becomes at most so many times as long as the first. */
const PAUSES_MAX = 32;

/** How long to wait, after `beforeMs`, before what was not answered is sent again: twice as long each time, up to a limit. */
export function longerPause(beforeMs: Millis, firstMs: Millis): Millis {
  return Math.min(2 * Math.max(beforeMs, firstMs), PAUSES_MAX * firstMs);
}

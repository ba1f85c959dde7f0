import type { Millis } from '@goshawk/core';
import type { Batch } from '../job/batch.js';

// Nothing may be heard of the probes of a batch for long. They may wait at busy workers; or they are lost, or were stolen and
// lost on the way, or were given back and nobody heard. From here that looks the same, so more of them are sent, ever less often.

/** @returns whether more probes are to be sent */
export function isSilent(batch: Batch, pauseMs: Millis, now: Millis): boolean {
  const { probes, silence } = batch;
  if (silence?.changes !== probes.changes) {
    batch.silence = { changes: probes.changes, since: now, pauseMs };
    return false;
  }
  return now - silence.since >= silence.pauseMs;
}

/** More have been sent. */
export function hasProbed(batch: Batch, pauseMs: Millis, now: Millis): void {
  const before = batch.silence?.pauseMs ?? pauseMs;
  batch.silence = { changes: batch.probes.changes, since: now, pauseMs: longerPause(before, pauseMs) };
}

/** A pause becomes at most so many times as long as the first. */
const PAUSES_MAX = 32;

/** How long to wait, after `beforeMs`, before what was not answered is sent again: twice as long each time, up to a limit. */
export function longerPause(beforeMs: Millis, firstMs: Millis): Millis {
  return Math.min(2 * Math.max(beforeMs, firstMs), PAUSES_MAX * firstMs);
}

import type { Millis } from '@goshawk/core';
import type { Batch } from '../job/batch.js';

// Detects batches with probes that no worker has answered for long. The owner cannot distinguish queued
// probes from lost ones, so it sends more probes at growing intervals.

/** @returns whether to send more probes */
export function hasStalled(batch: Batch, pauseMs: Millis, now: Millis): boolean {
  const { probes, silence } = batch;
  if (silence?.changes !== probes.changeCount) {
    batch.silence = { changes: probes.changeCount, since: now, pauseMs };
    return false;
  }
  return now - silence.since >= silence.pauseMs;
}

/** Records that more probes were sent. */
export function probesRepeated(batch: Batch, pauseMs: Millis, now: Millis): void {
  const before = batch.silence?.pauseMs ?? pauseMs;
  batch.silence = { changes: batch.probes.changeCount, since: now, pauseMs: longerPause(before, pauseMs) };
}

/** Maximum growth of an interval, as a multiple of the first. */
const PAUSE_GROWTH_MAX = 32;

/** Doubles a retry interval, up to a limit. */
export function longerPause(beforeMs: Millis, firstMs: Millis, growthMax = PAUSE_GROWTH_MAX): Millis {
  return Math.min(2 * Math.max(beforeMs, firstMs), growthMax * firstMs);
}

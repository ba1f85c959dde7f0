import type { Address, Millis } from '@goshawk/core';
import type { Entry } from './entry.js';
import { giveBack } from './giving-back.js';
import type { WorkerState } from './state.js';

// Questions from slots to owners, and their retries.

/** Asks the owner of an entry for its task. */
export function sendAsk(
  w: WorkerState,
  { owner, job, stage, placed }: Entry,
  ask: number,
  again = false,
): void {
  w.env.send(owner, { type: 'ask', ask, again, job, stage, placed });
}

/**
 * Repeats questions that were not answered for `retryMs`. Drops them after the maximum number of attempts.
 *
 * @returns whether slots became free
 */
export function sweepAsks(w: WorkerState, now: Millis): boolean {
  const { slots } = w.memory;
  const { retryMs, retriesMax } = w.timings;
  let hasFreed = false;
  for (const slot of w.slots.asking()) {
    const row = w.slots.rowOf(slot);
    if (now - slots.changedAt[row]! < retryMs) continue;
    if (slots.tries[row]! >= retriesMax) {
      giveUp(w, slot);
      hasFreed = true;
      continue;
    }
    w.slots.repeatAsk(slot, now);
    repeatAsk(w, slot);
  }
  return hasFreed;
}

/** Drops the questions to an owner that is gone. */
export function dropAsks(w: WorkerState, owner: Address): void {
  for (const slot of w.slots.asking()) if (w.slots.entryAt(slot)!.owner === owner) giveUp(w, slot);
}

function repeatAsk(w: WorkerState, slot: number): void {
  const row = w.slots.rowOf(slot);
  const entry = w.slots.entryAt(slot)!;
  const report = w.memory.series.get(row)?.report;
  if (report === undefined) sendAsk(w, entry, w.memory.slots.ask[row]!, true);
  // `Reports` repeats unconfirmed reports.
  else if (!w.reports.has(entry.owner, report)) w.env.send(entry.owner, report);
}

/** Frees a slot whose question was not answered, and returns its probe or placed task to the owner. */
function giveUp(w: WorkerState, slot: number): void {
  if (!w.memory.series.has(w.slots.rowOf(slot))) giveBack(w, [w.slots.entryAt(slot)!]);
  w.slots.release(slot);
}

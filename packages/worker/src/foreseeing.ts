import { type Address, cpusOf, type Millis, NO_RESOURCES } from '@goshawk/core';
import { isTask, type KeptTask } from './ahead.js';
import type { TaskRef } from './entry.js';
import { giveBackTask } from './giving-back.js';
import type { WorkerParts } from './parts.js';
import type { WorkerState } from './state.js';

// Reports a slot as free shortly before its task ends, so that the next task arrives in time.

/** Time for a pull, a match and a task to arrive. */
const LEAD_MS = 5;
/** Maximum of the lead, as a fraction of the task's expected run time. */
const LEAD_SHARE = 0.1;
/** Number of leads after the announcement at which an overdue prediction is dropped. */
const PATIENCE_LEADS = 2;

/** Predicts the end of the task that starts in the slot. Its owner sends an estimate if tasks wait at central. */
export function predictEnd(w: WorkerState, slot: number, expectedMs: Millis, now: Millis): void {
  // Without series, central decides each task when a slot is free, so an early report has no use.
  if (w.seriesMs === 0) return;
  const since = w.memory.slots.since[w.slots.rowOf(slot)]!;
  // The end of a tiny task requests the next one anyway.
  if (now - since + 2 * expectedMs < w.seriesMs) return;
  w.ahead.predictEnd(slot);
  w.env.setTimer('ahead', slot, now + expectedMs - leadMs(expectedMs));
}

/** Handles the timer of a predicted end: announces the slot, or drops the prediction if the end is overdue. */
export function predictedEndDue(w: WorkerParts, slot: number, now: Millis): void {
  const { ahead } = w;
  if (!ahead.isPredicted(slot)) return;
  // A task that arrives early would start or be returned at once while another CPU is partly free.
  // Announcing a task that uses no CPU is useless, because an announcement only adds CPUs.
  const demand = w.slots.entryAt(slot)?.demand ?? NO_RESOURCES;
  const takesCpu = cpusOf(demand) > 0;
  const isUseless = w.slots.isSharing && (w.slots.idleCount > 0 || !takesCpu);
  const mayAnnounce = !isUseless && w.takesWork && !w.slots.owesCpus && w.queue.isEmpty;
  if (!ahead.isAnnounced(slot) && mayAnnounce && w.finder?.pulls(now)) {
    ahead.announce(slot);
    w.finder.report();
    return w.env.setTimer('ahead', slot, now + PATIENCE_LEADS * LEAD_MS);
  }
  const wasAnnounced = ahead.isAnnounced(slot);
  ahead.forget(slot);
  if (!wasAnnounced) return;
  giveBackSurplus(w);
  w.finder?.report();
}

/** Returns early tasks for which no announced slot is left. */
export function giveBackSurplus(w: WorkerState): void {
  const ahead = w.existingAhead;
  while (ahead !== undefined && ahead.open < 0) giveBackKept(w, (task) => task === ahead.kept.at(-1));
}

/** Removes the prediction for a slot. Returns whether central already counts the slot as free. */
export function takePrediction(w: WorkerState, slot: number): boolean {
  const ahead = w.existingAhead;
  if (ahead?.isPredicted(slot) !== true) return false;
  w.env.clearTimer('ahead', slot);
  const wasAnnounced = ahead.isAnnounced(slot);
  ahead.forget(slot);
  return wasAnnounced;
}

/** Returns matching early tasks to their owners. @returns whether there were any */
export function giveBackKept(w: WorkerState, matches: (task: KeptTask) => boolean = () => true): boolean {
  const taken = [...(w.existingAhead?.take(matches) ?? []), ...(w.existingChunks?.take(matches) ?? [])];
  for (const { owner, message } of taken) giveBackTask(w, owner, message, message.stage);
  return taken.length > 0;
}

/** Returns an early task to its owner. @returns whether this worker had it */
export function giveBackKeptTask(w: WorkerState, owner: Address, task: TaskRef): boolean {
  return giveBackKept(w, (kept) => isTask(kept, owner, task));
}

function leadMs(expectedMs: Millis): Millis {
  return Math.min(LEAD_MS, LEAD_SHARE * expectedMs);
}

import type { Address } from '@goshawk/core';
import type { Entry, TaskRef } from './entry.js';
import type { WorkerState } from './state.js';

// Returns work that will not run here. Its owner must find another worker, and central must remove the task from this
// worker's estimated waiting time.

/** Returns probes and placed tasks, with one message per batch of probes. */
export function giveBack(w: WorkerState, entries: readonly Entry[]): void {
  const batches = new Map<string, { entry: Entry; probes: number }>();
  for (const entry of entries) {
    if (entry.placed !== undefined) {
      placementOver(w, entry);
      giveBackTask(w, entry.owner, { job: entry.job, ...entry.placed }, entry.stage);
      continue;
    }
    const key = `${entry.owner}/${entry.job}/${entry.stage}`;
    const batch = batches.get(key);
    if (batch === undefined) batches.set(key, { entry, probes: 1 });
    else batch.probes++;
  }
  for (const { entry, probes } of batches.values()) {
    const { owner, job, stage } = entry;
    w.counted.declined++;
    w.env.send(owner, { type: 'declined', job, stage, probes, placed: undefined });
  }
}

/** Returns a bound or placed task to its owner. */
export function giveBackTask(
  w: WorkerState,
  owner: Address,
  { job, task, attempt }: TaskRef,
  stage = 0,
): void {
  w.counted.declined++;
  w.env.send(owner, { type: 'declined', job, stage, probes: 0, placed: { task, attempt } });
}

/** Notifies central that a placed task will not run here. The owner gets a separate message. */
export function placementOver(w: WorkerState, { owner, job, placed }: Entry): void {
  if (placed !== undefined) notifyCentral(w, 'placementEnded', owner, { job, ...placed });
}

/** Tells central that a placed task has started or ended. */
export function notifyCentral(
  w: WorkerState,
  type: 'placementStarted' | 'placementEnded',
  owner: Address,
  { job, task, attempt }: TaskRef,
): void {
  w.env.send(w.central, { type, owner, job, task, attempt });
}

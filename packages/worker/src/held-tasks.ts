import type { HeldTask, Millis } from '@goshawk/core';
import type { WorkerQueue } from './queue.js';
import type { Slots } from './slots.js';

/** What a worker holds of the tasks that central has placed, for a central that may know nothing of them. */
export function heldTasks(slots: Slots, queue: WorkerQueue, now: Millis): HeldTask[] {
  const held: HeldTask[] = [];
  for (const [, r] of slots.running()) {
    if (!r.placedByCentral) continue;
    const { owner, job, task, attempt, long, estimateMs } = r;
    held.push({ owner, job, task, attempt, long, estimateMs, running: true, elapsedMs: now - r.startedAt });
  }
  for (const { owner, job, long, estimateMs, placed } of [
    ...[...slots.asking()].map(([, asking]) => asking.entry),
    ...queue,
  ]) {
    if (placed !== undefined)
      held.push({ owner, job, ...placed, long, estimateMs, running: false, elapsedMs: 0 });
  }
  return held;
}

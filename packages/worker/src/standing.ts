import type { WorkerCounters, WorkerStanding } from './contract.js';
import type { WorkerQueue } from './queue.js';
import type { Reports } from './reports.js';
import type { Slots } from './slots.js';
import type { Stealing } from './stealing.js';

/** @param given 0: no fixed number of slots */
export function standingOf(
  given: number,
  { busyCount, longCount }: Slots,
  queue: WorkerQueue,
  reports: Reports,
): WorkerStanding {
  return {
    slots: given,
    busy: { long: longCount, short: busyCount - longCount },
    queued: queue.length,
    unconfirmed: reports.size,
  };
}

/** What a worker says of itself to whoever asks. */
export function countedOf(counters: WorkerCounters, { busy, queued }: WorkerStanding) {
  return { ...counters, busy: busy.long + busy.short, queued };
}

export function noneCounted(): WorkerCounters {
  return {
    tasksStarted: 0,
    tasksEnded: 0,
    stealAttempts: 0,
    stealSuccesses: 0,
    probesMoved: 0,
    declined: 0,
    pauses: 0,
  };
}

/** Brings what is counted elsewhere into a worker's counters. @param ended tasks: of each end there is one report */
export function countNow(
  counters: WorkerCounters,
  stolen: Stealing['counted'] | undefined,
  ended: number,
  running: number,
): void {
  counters.stealAttempts = stolen?.attempts ?? 0;
  counters.stealSuccesses = stolen?.successes ?? 0;
  counters.probesMoved = stolen?.probesMoved ?? 0;
  counters.tasksEnded = ended;
  counters.tasksStarted = ended + running;
}

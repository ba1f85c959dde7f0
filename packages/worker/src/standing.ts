import type { WorkerCounters, WorkerStanding } from './contract.js';
import type { WorkerQueue } from './queue.js';
import type { Reports } from './reports.js';
import type { Slots } from './slots.js';

export function standingOf(slots: Slots, queue: WorkerQueue, reports: Reports): WorkerStanding {
  const { count, busyCount, longCount } = slots;
  return {
    slots: count,
    busy: { long: longCount, short: busyCount - longCount },
    queued: queue.length,
    unconfirmed: reports.size,
  };
}

/** What a worker says of itself to whoever asks. */
export function countedOf(name: string, counters: WorkerCounters, { busy, queued }: WorkerStanding) {
  return { name, ...counters, busy: busy.long + busy.short, queued };
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

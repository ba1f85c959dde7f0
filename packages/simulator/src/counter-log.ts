import type { MessageType, Millis } from '@goshawk/core';

/** Counters of a cluster at one time of the workload. */
export interface CounterReading {
  readonly atMs: Millis;
  readonly stealAttempts: number;
  readonly stealSuccesses: number;
  readonly probesMoved: number;
  /** Probes and placed tasks queued at workers or in flight to them; undefined: unknown. */
  readonly queuedEntries: number | undefined;
}

/** Interval between readings in time of the workload: as in Hawk (§4.1). */
const PAUSE_MS = 100_000;

/** Readings of the counters of a simulated cluster during a run. */
export class CounterLog {
  readonly readings: CounterReading[] = [];
  #dueAt: Millis = PAUSE_MS;

  isDue(now: Millis): boolean {
    return now >= this.#dueAt;
  }

  add(reading: CounterReading): void {
    this.readings.push(reading);
    this.#dueAt = reading.atMs + PAUSE_MS;
  }
}

/**
 * Number of queued entries. Valid with lazy cancellation, where an entry leaves its queue when the worker asks for a
 * task.
 */
export function queuedEntries(sent: Readonly<Partial<Record<MessageType, number>>>): number {
  const { probe = 0, assign = 0, ask = 0 } = sent;
  return probe + assign - ask;
}

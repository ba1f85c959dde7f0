import type { MessageType, Millis } from '@goshawk/core';

/** What a cluster had counted by one moment; the times are those of the workload. */
export interface CounterReading {
  readonly atMs: Millis;
  readonly stealAttempts: number;
  readonly stealSuccesses: number;
  readonly probesMoved: number;
  /** Probes and placed tasks that wait at workers, or are on their way there; undefined where nobody knows. */
  readonly queuedEntries: number | undefined;
}

/** Of the workload, between two readings at the least: as often as Hawk looks at utilisation (§4.1). */
const PAUSE_MS = 100_000;
/**
 * A reading asks every worker, at some 35 ns each where memory is cold, and an event takes ten times as long:
 * so reading takes less than a hundredth of the time of a simulation, however large its cluster.
 */
const EVENTS_PER_WORKER = 10;

/** Readings of the counters of a simulated cluster, as many as cost nothing noticeable. */
export class CounterLog {
  readonly readings: CounterReading[] = [];
  readonly #pauseEvents: number;
  #dueAt: Millis = PAUSE_MS;
  #dueEvents: number;

  /** @param asked workers that each reading asks */
  constructor(asked: number) {
    this.#pauseEvents = EVENTS_PER_WORKER * asked;
    this.#dueEvents = this.#pauseEvents;
  }

  isDue(now: Millis, events: number): boolean {
    return now >= this.#dueAt && events >= this.#dueEvents;
  }

  add(reading: CounterReading, events: number): void {
    this.readings.push(reading);
    this.#dueAt = reading.atMs + PAUSE_MS;
    this.#dueEvents = events + this.#pauseEvents;
  }
}

/** Where no probe is taken back (`lazy`), an entry is gone from the queues once its worker has asked for a task. */
export function queuedEntries(sent: Readonly<Partial<Record<MessageType, number>>>): number {
  const { probe = 0, assign = 0, ask = 0 } = sent;
  return probe + assign - ask;
}

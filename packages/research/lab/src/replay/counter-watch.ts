import type { Cluster, ClusterCounters } from '@goshawk/client';
import { type Millis, sumOf } from '@goshawk/core';
import type { CounterReading } from '@goshawk/report';
import { type Reading, type Traffic, trafficBetween } from './traffic.js';

/** A chart needs no more readings. */
const READINGS = 60;
const PAUSE_MIN_MS = 1_000;
/** Every worker answers a reading, so 1,000 workers cause one message every two milliseconds. */
const PAUSE_PER_WORKER_MS = 4;

/**
 * Returns the pause between two readings of a run. Readings have a cost: on a busy machine, a reading every
 * half second slowed jobs of 20 ms down in 13 of 16 pairs of runs.
 *
 * @param isShown whether a chart will show the readings; otherwise only the final one is taken
 */
export function readingPauseMs(runMs: Millis, workers: number, isShown: boolean): Millis {
  if (!isShown) return Number.POSITIVE_INFINITY;
  return Math.max(PAUSE_MIN_MS, PAUSE_PER_WORKER_MS * workers, runMs / READINGS);
}

/**
 * Reads the counters of a cluster periodically while a workload runs. Failed readings are left out, since
 * only a chart needs them.
 */
export class CounterWatch {
  readonly #cluster: Pick<Cluster, 'counters'>;
  readonly #before: Reading;
  readonly #pauseMs: Millis;
  readonly #signal: AbortSignal;
  readonly #readings: CounterReading[] = [];
  #dueAtMs: Millis;
  #underway: Promise<void> | undefined;

  /** @param before counters at the start of the run */
  constructor(
    cluster: Pick<Cluster, 'counters'>,
    before: Reading,
    { pauseMs, signal }: { readonly pauseMs: Millis; readonly signal: AbortSignal },
  ) {
    this.#cluster = cluster;
    this.#before = before;
    this.#pauseMs = pauseMs;
    this.#signal = signal;
    this.#dueAtMs = pauseMs;
  }

  /** Takes a reading when one is due. It is called periodically with the time since the start of the run. */
  observe(elapsedMs: Millis): void {
    if (elapsedMs < this.#dueAtMs || this.#underway !== undefined) return;
    this.#dueAtMs = elapsedMs + this.#pauseMs;
    this.#underway = this.#read(elapsedMs).finally(() => {
      this.#underway = undefined;
    });
  }

  /** Returns all readings; the last one has the totals at the end of the run. */
  async finish(endedMs: Millis, { steals }: Traffic): Promise<readonly CounterReading[]> {
    await this.#underway;
    const earlier = this.#readings.filter(({ seconds }) => seconds < endedMs / 1_000);
    return [...earlier, readingOf(endedMs, steals)];
  }

  async #read(elapsedMs: Millis): Promise<void> {
    const askedAt = performance.now();
    const counters = await this.#cluster.counters({ signal: this.#signal }).catch(() => undefined);
    if (counters === undefined || counters.silent.length > 0) return;
    const tookMs = performance.now() - askedAt;
    // The old view suffices: a restarted process is recognized by its counters.
    const { steals } = trafficBetween(this.#before, { counters, view: this.#before.view });
    this.#readings.push({
      ...readingOf(elapsedMs + tookMs / 2, steals),
      queuedEntries: queuedAt(counters),
    });
  }
}

function readingOf(atMs: Millis, { attempts, successes, probesMoved }: Traffic['steals']): CounterReading {
  return { seconds: atMs / 1_000, stealAttempts: attempts, stealSuccesses: successes, probesMoved };
}

function queuedAt({ workers }: ClusterCounters): number {
  return sumOf(Object.values(workers), ({ queued }) => (typeof queued === 'number' ? queued : 0));
}

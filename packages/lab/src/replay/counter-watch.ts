import type { Cluster, ClusterCounters } from '@goshawk/client';
import { type Millis, sumOf } from '@goshawk/core';
import type { CounterReading } from '@goshawk/report';
import { type Reading, type Traffic, trafficBetween } from './traffic.js';

/** Enough for a chart. */
const READINGS = 60;
const PAUSE_MIN_MS = 1_000;
/** Every worker is asked, and answers: so that a look at 1,000 of them is a message each two milliseconds. */
const PAUSE_PER_WORKER_MS = 4;

/**
 * How long to let pass between two readings of a run. They are not free: on a busy machine, readings each
 * half second made jobs of 20 ms slower in 13 of 16 pairs of runs. So nobody should read without need.
 *
 * @param isShown whether there will be a chart of what is read; otherwise nothing is read before the end
 */
export function readingPauseMs(runMs: Millis, workers: number, isShown: boolean): Millis {
  if (!isShown) return Number.POSITIVE_INFINITY;
  return Math.max(PAUSE_MIN_MS, PAUSE_PER_WORKER_MS * workers, runMs / READINGS);
}

/**
 * Reads the counters of a cluster now and then while a workload runs on it. What cannot be read is left out:
 * it is only missed in a chart.
 */
export class CounterWatch {
  readonly #cluster: Pick<Cluster, 'counters'>;
  readonly #before: Reading;
  readonly #pauseMs: Millis;
  readonly #signal: AbortSignal;
  readonly #readings: CounterReading[] = [];
  #dueAtMs: Millis;
  #underway: Promise<void> | undefined;

  /** @param before what had been counted when the run began */
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

  /** Called periodically with the time since the start of the run: takes a reading when one is due. */
  look(elapsedMs: Millis): void {
    if (elapsedMs < this.#dueAtMs || this.#underway !== undefined) return;
    this.#dueAtMs = elapsedMs + this.#pauseMs;
    this.#underway = this.#read(elapsedMs).finally(() => {
      this.#underway = undefined;
    });
  }

  /** All readings, and as the last one what was counted in all by the end of the run. */
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
    // Nobody is described anew: who was started again meanwhile shows in its own counters.
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

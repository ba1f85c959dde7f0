import { jainIndex, type Millis, sumOf, type Vector } from '@goshawk/core';
import type { ClusterBooks } from '../books/books.js';
import type { BookedJob } from '../books/entries.js';

/** Jain's index in windows (Carbyne §5.1): mean, least and greatest over windows. */
export interface FairnessSummary {
  readonly mean: number;
  readonly min: number;
  readonly max: number;
}

interface JobWindow {
  shareMs: number;
  dueMs: number;
}

const WINDOW_MS = 60_000;

/**
 * Jain's index of the mean share that jobs have over what they could have had, the lesser of an equal share and of what the
 * tasks that run or may run need; at most 1.
 */
export class Fairness {
  readonly #byNeed: number[] = [];
  #jobs = new Map<number, JobWindow>();
  #windowEnd = WINDOW_MS;

  /** Between the two times nothing changes. */
  observe(from: Millis, until: Millis, books: ClusterBooks): void {
    let at = from;
    while (at < until) {
      const end = Math.min(until, this.#windowEnd);
      this.#add(end - at, books);
      at = end;
      if (at === this.#windowEnd) this.#close();
    }
  }

  byNeed(): FairnessSummary {
    return summaryOf(this.#byNeed);
  }

  #add(ms: Millis, books: ClusterBooks): void {
    const jobs = [...books.jobs];
    let weights = 0;
    for (const { weight } of jobs) weights += weight;
    for (const job of jobs) {
      let window = this.#jobs.get(job.number);
      if (window === undefined) {
        window = { shareMs: 0, dueMs: 0 };
        this.#jobs.set(job.number, window);
      }
      const { has, needs } = sharesOf(job, books.capacity);
      window.shareMs += (has / job.weight) * ms;
      window.dueMs += (Math.min(job.weight / weights, needs) / job.weight) * ms;
    }
  }

  #close(): void {
    const needing = [...this.#jobs.values()].filter(({ dueMs }) => dueMs > 0);
    if (needing.length > 0)
      this.#byNeed.push(jainIndex(needing.map(({ shareMs, dueMs }) => Math.min(1, shareMs / dueMs))));
    this.#jobs = new Map();
    this.#windowEnd += WINDOW_MS;
  }
}

/** Dominant shares of what runs, and of what runs or may run. */
function sharesOf({ stages }: BookedJob, capacity: Vector): { has: number; needs: number } {
  let has = 0;
  let needs = 0;
  capacity.forEach((amount, r) => {
    if (!(amount > 0 && amount < Number.POSITIVE_INFINITY)) return;
    let used = 0;
    let wanted = 0;
    for (const { demand, running, waiting } of stages) {
      used += running * (demand[r] ?? 0);
      wanted += (running + waiting) * (demand[r] ?? 0);
    }
    has = Math.max(has, used / amount);
    needs = Math.max(needs, wanted / amount);
  });
  return { has, needs };
}

function summaryOf(values: readonly number[]): FairnessSummary {
  if (values.length === 0) return { mean: 1, min: 1, max: 1 };
  const sum = sumOf(values);
  return { mean: sum / values.length, min: Math.min(...values), max: Math.max(...values) };
}

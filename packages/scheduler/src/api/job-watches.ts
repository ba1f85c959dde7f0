import { type Address, type JobNumber, LIMITS, type Millis } from '@goshawk/core';
import type { Job } from '../job/job.js';

/** A client that watches a job. */
interface Watch {
  readonly client: Address;
  readonly request: number;
  /** Include each task's times in the last event. */
  readonly detail: boolean;
  /** Whether the client needs progress within milliseconds. */
  readonly soon: boolean;
  lastSeenAt: Millis;
}

/** A watch expires if it is not renewed for this many milliseconds. */
const SILENCE_MS = 60_000;
/** Minimum interval in milliseconds between removals of expired watches when there are too many. */
const SWEEP_MS = 1_000;

/**
 * Watches by job. Silent ones expire, and their number is bounded. A client's request number identifies one
 * watch of one job.
 */
export class JobWatches {
  readonly #byJob = new Map<number, Map<string, Watch>>();
  /** The job of each watch. */
  readonly #jobOf = new Map<string, number>();
  /** Watches that need prompt updates. */
  readonly #soon = new Set<string>();
  #sweptAt: Millis = Number.NEGATIVE_INFINITY;

  /** @returns false if there are too many watches */
  renew(job: Job, watch: Omit<Watch, 'lastSeenAt'>, now: Millis): boolean {
    const name = nameOf(watch.client, watch.request);
    const known = this.#byJob.get(job.number)?.get(name);
    if (known !== undefined) {
      known.lastSeenAt = now;
      return true;
    }
    if (this.#jobOf.size >= LIMITS.watchesMax && now - this.#sweptAt >= SWEEP_MS) this.#sweep(now);
    if (this.#jobOf.size >= LIMITS.watchesMax) return false;
    this.#forget(name);
    let watches = this.#byJob.get(job.number);
    if (watches === undefined) {
      watches = new Map();
      this.#byJob.set(job.number, watches);
    }
    watches.set(name, { ...watch, lastSeenAt: now });
    this.#jobOf.set(name, job.number);
    if (watch.soon) this.#soon.add(name);
    return true;
  }

  isWatched(job: Job): boolean {
    // A fast path, called twice per task: usually no client watches anything.
    return this.#jobOf.size > 0 && this.#byJob.has(job.number);
  }

  /** Whether some client needs progress of the job within milliseconds. */
  isWatchedSoon(job: Job): boolean {
    if (this.#soon.size === 0) return false;
    for (const { soon } of this.#byJob.get(job.number)?.values() ?? []) if (soon) return true;
    return false;
  }

  /** The current watches of a job; removes expired ones. */
  alive(job: Job, now: Millis): readonly Watch[] {
    this.#forgetSilent(job.number, now);
    return [...(this.#byJob.get(job.number)?.values() ?? [])];
  }

  /** The job has ended: removes and returns its watches. */
  take(job: Job): readonly Watch[] {
    const watches = this.#byJob.get(job.number);
    if (watches === undefined) return [];
    this.#byJob.delete(job.number);
    for (const name of watches.keys()) {
      this.#jobOf.delete(name);
      this.#soon.delete(name);
    }
    return [...watches.values()];
  }

  forget(client: Address, request: number): void {
    this.#forget(nameOf(client, request));
  }

  #forget(name: string): void {
    const job = this.#jobOf.get(name);
    if (job === undefined) return;
    this.#jobOf.delete(name);
    this.#soon.delete(name);
    const watches = this.#byJob.get(job)!;
    watches.delete(name);
    if (watches.size === 0) this.#byJob.delete(job);
  }

  #sweep(now: Millis): void {
    this.#sweptAt = now;
    for (const job of this.#byJob.keys()) this.#forgetSilent(job, now);
  }

  #forgetSilent(job: JobNumber, now: Millis): void {
    for (const [name, { lastSeenAt }] of this.#byJob.get(job) ?? []) {
      if (now - lastSeenAt >= SILENCE_MS) this.#forget(name);
    }
  }
}

function nameOf(client: Address, request: number): string {
  return `${client}/${request}`;
}

import { type Address, type JobNumber, LIMITS, type Millis } from '@goshawk/core';
import type { Job } from '../job/job.js';

/** A client that watches a job. */
interface Watch {
  readonly client: Address;
  /** Name of the client's key; undefined without one of its own. */
  readonly key?: string | undefined;
  readonly request: number;
  /** Whether the last event includes each task's times. */
  readonly detail: boolean;
  /** Whether the client needs progress updates within milliseconds. */
  readonly soon: boolean;
  renewedAt: Millis;
}

/** A watch expires if it is not renewed for this many milliseconds. */
const EXPIRY_MS = 60_000;
/** Part of the watches that others leave which those of one key may take. */
const SHARE = 0.75;
/** Minimum interval in milliseconds between removals of expired watches when there are too many. */
const REMOVAL_PAUSE_MS = 1_000;

/**
 * The watches of all jobs. A watch expires unless its client renews it, and the number of watches is limited, for all and for
 * those of one key. A client and its request number identify one watch of one job.
 */
export class JobWatches {
  readonly #byJob = new Map<number, Map<string, Watch>>();
  /** The watched job of each watch. */
  readonly #jobOf = new Map<string, number>();
  /** Number of watches by key. */
  readonly #byKey = new Map<string | undefined, number>();
  /** Watches that need prompt updates. */
  readonly #prompt = new Set<string>();
  readonly #most: number;
  #sweptAt: Millis = Number.NEGATIVE_INFINITY;

  constructor(most: number = LIMITS.watchesMax) {
    this.#most = most;
  }

  /** @returns false if there are too many watches */
  renew(job: Job, watch: Omit<Watch, 'renewedAt'>, now: Millis): boolean {
    const name = keyOf(watch.client, watch.request);
    const known = this.#byJob.get(job.number)?.get(name);
    if (known !== undefined) {
      known.renewedAt = now;
      return true;
    }
    if (this.#isFull(watch.key) && now - this.#sweptAt >= REMOVAL_PAUSE_MS) this.#removeAllExpired(now);
    if (this.#isFull(watch.key)) return false;
    this.#remove(name);
    let watches = this.#byJob.get(job.number);
    if (watches === undefined) {
      watches = new Map();
      this.#byJob.set(job.number, watches);
    }
    watches.set(name, { ...watch, renewedAt: now });
    this.#byKey.set(watch.key, (this.#byKey.get(watch.key) ?? 0) + 1);
    this.#jobOf.set(name, job.number);
    if (watch.soon) this.#prompt.add(name);
    return true;
  }

  isWatched(job: Job): boolean {
    // A fast path for the usual case that no client watches any job: this is called twice per task.
    return this.#jobOf.size > 0 && this.#byJob.has(job.number);
  }

  /** Whether some client needs progress updates of the job within milliseconds. */
  needsPromptUpdates(job: Job): boolean {
    if (this.#prompt.size === 0) return false;
    for (const { soon } of this.#byJob.get(job.number)?.values() ?? []) if (soon) return true;
    return false;
  }

  /** Removes the job's expired watches, and returns the others. */
  current(job: Job, now: Millis): readonly Watch[] {
    this.#removeExpired(job.number, now);
    return [...(this.#byJob.get(job.number)?.values() ?? [])];
  }

  /** Removes and returns the watches of an ended job. */
  take(job: Job): readonly Watch[] {
    const watches = this.#byJob.get(job.number);
    if (watches === undefined) return [];
    this.#byJob.delete(job.number);
    for (const [name, { key }] of watches) {
      this.#jobOf.delete(name);
      this.#prompt.delete(name);
      this.#leave(key);
    }
    return [...watches.values()];
  }

  remove(client: Address, request: number): void {
    this.#remove(keyOf(client, request));
  }

  #isFull(key: string | undefined): boolean {
    const own = this.#byKey.get(key) ?? 0;
    const left = this.#most - (this.#jobOf.size - own);
    return own >= SHARE * left;
  }

  #leave(key: string | undefined): void {
    const left = this.#byKey.get(key)! - 1;
    if (left === 0) this.#byKey.delete(key);
    else this.#byKey.set(key, left);
  }

  #remove(name: string): void {
    const job = this.#jobOf.get(name);
    if (job === undefined) return;
    this.#jobOf.delete(name);
    this.#prompt.delete(name);
    const watches = this.#byJob.get(job)!;
    this.#leave(watches.get(name)!.key);
    watches.delete(name);
    if (watches.size === 0) this.#byJob.delete(job);
  }

  #removeAllExpired(now: Millis): void {
    this.#sweptAt = now;
    for (const job of this.#byJob.keys()) this.#removeExpired(job, now);
  }

  #removeExpired(job: JobNumber, now: Millis): void {
    for (const [name, { renewedAt: lastSeenAt }] of this.#byJob.get(job) ?? []) {
      if (now - lastSeenAt >= EXPIRY_MS) this.#remove(name);
    }
  }
}

function keyOf(client: Address, request: number): string {
  return `${client}/${request}`;
}

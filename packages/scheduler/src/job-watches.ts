import { type Address, LIMITS, type Millis } from '@goshawk/core';
import type { Job } from './job.js';

/** A client that is told how a job comes along. */
export interface Watch {
  readonly client: Address;
  readonly request: number;
  /** With each task's times in the last event. */
  readonly detail: boolean;
  heardAt: Millis;
}

/** A watcher that has not said anything for so long is gone. ms */
const SILENCE_MS = 60_000;

/** Who watches which job. Those who fall silent are forgotten, and there are never more than so many. */
export class JobWatches {
  readonly #byJob = new Map<number, Watch[]>();
  /** Which jobs a client watches with a request: nearly always one. */
  readonly #jobs = new Map<string, Set<number>>();
  #count = 0;

  /** @returns false when there is no room for one more */
  renew(job: Job, client: Address, request: number, detail: boolean, now: Millis): boolean {
    const watches = this.#byJob.get(job.number) ?? [];
    const known = watches.find((watch) => watch.client === client && watch.request === request);
    if (known !== undefined) {
      known.heardAt = now;
      return true;
    }
    if (this.#count >= LIMITS.watchesMax) return false;
    this.#set(job.number, [...watches, { client, request, detail, heardAt: now }]);
    const key = keyOf({ client, request });
    this.#jobs.set(key, (this.#jobs.get(key) ?? new Set()).add(job.number));
    return true;
  }

  isWatched(job: Job): boolean {
    // Nearly always nobody watches anything, and each task asks twice.
    return this.#count > 0 && this.#byJob.has(job.number);
  }

  /** Those who watch a job and have been heard from lately; the others are forgotten. */
  alive(job: Job, now: Millis): readonly Watch[] {
    const watches = this.#byJob.get(job.number) ?? [];
    const alive = watches.filter(({ heardAt }) => now - heardAt < SILENCE_MS);
    if (alive.length < watches.length) {
      this.#set(job.number, alive);
      for (const watch of watches) if (!alive.includes(watch)) this.#unlist(watch, job.number);
    }
    return alive;
  }

  /** The job has ended: takes its watchers out. */
  take(job: Job): readonly Watch[] {
    const watches = this.#byJob.get(job.number) ?? [];
    this.#set(job.number, []);
    for (const watch of watches) this.#unlist(watch, job.number);
    return watches;
  }

  forget(client: Address, request: number): void {
    const key = keyOf({ client, request });
    for (const job of this.#jobs.get(key) ?? []) {
      const watches = this.#byJob.get(job) ?? [];
      this.#set(
        job,
        watches.filter((watch) => watch.client !== client || watch.request !== request),
      );
    }
    this.#jobs.delete(key);
  }

  #unlist(watch: Watch, job: number): void {
    const key = keyOf(watch);
    const jobs = this.#jobs.get(key);
    jobs?.delete(job);
    if (jobs?.size === 0) this.#jobs.delete(key);
  }

  #set(job: number, watches: Watch[]): void {
    this.#count += watches.length - (this.#byJob.get(job)?.length ?? 0);
    if (watches.length === 0) this.#byJob.delete(job);
    else this.#byJob.set(job, watches);
  }
}

function keyOf({ client, request }: Pick<Watch, 'client' | 'request'>): string {
  return `${client} ${request}`;
}

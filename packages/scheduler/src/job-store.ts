import type { Millis } from '@goshawk/core';
import { bytesOf, Holdings } from './holdings.js';
import type { Job } from './job.js';
import { TaskLogs } from './task-logs.js';

/** Which jobs are kept after their end. */
export interface Retention {
  readonly jobsMax: number;
  readonly keepMs: Millis;
  /** What they may take, as far as that can be estimated. */
  readonly bytesMax: number;
  /** Nothing is kept of the job any more. */
  forgot(job: number, now: Millis): void;
}

/** The jobs of one owner: those that have not ended, and the last of those that have. */
export class JobStore {
  readonly logs: TaskLogs;
  readonly #tag: string;
  readonly #retention: Retention;
  readonly #active = new Map<number, Job>();
  /** In the order in which they ended. */
  readonly #ended = new Map<number, Job>();
  readonly #byKey = new Map<string, number>();
  readonly #keys = new Map<number, string>();
  readonly #holdings = new Holdings();
  readonly #activeByUser = new Map<string | undefined, number>();
  #next: number;

  /** @param lastJob the highest number that must not be given again */
  constructor(tag: string, lastJob: number, retention: Retention, logBytesMax: number) {
    this.#tag = tag;
    this.#next = lastJob + 1;
    this.#retention = retention;
    this.logs = new TaskLogs(logBytesMax);
  }

  get activeCount(): number {
    return this.#active.size;
  }

  /** What the jobs take that have not ended, estimated. */
  get activeBytes(): number {
    return this.#holdings.active;
  }

  /** How many jobs of a user have not ended. */
  activeOf(user: string | undefined): number {
    return this.#activeByUser.get(user) ?? 0;
  }

  nextName(): { number: number; id: string } {
    const number = this.#next++;
    return { number, id: this.idOf(number) };
  }

  idOf(number: number): string {
    return `${this.#tag}-${number}`;
  }

  add(job: Job, key: string | undefined): void {
    this.#active.set(job.number, job);
    this.#holdings.add(job.number, bytesOf(job.spec));
    this.#countActive(job, 1);
    if (key === undefined) return;
    this.#byKey.set(key, job.number);
    this.#keys.set(job.number, key);
  }

  /** A job that was there before this process. */
  restore(job: Job, key: string | undefined): void {
    this.add(job, key);
    if (!job.hasEnded) return;
    this.#moveToEnded(job);
  }

  active(): Iterable<Job> {
    return this.#active.values();
  }

  /** Newest first. */
  *endedNewestFirst(): Iterable<Job> {
    const jobs = [...this.#ended.values()];
    for (let i = jobs.length - 1; i >= 0; i--) yield jobs[i]!;
  }

  byNumber(number: number): Job | undefined {
    return this.#active.get(number) ?? this.#ended.get(number);
  }

  byId(id: string): Job | undefined {
    const prefix = `${this.#tag}-`;
    if (!id.startsWith(prefix)) return undefined;
    const digits = id.slice(prefix.length);
    return /^\d+$/.test(digits) ? this.byNumber(Number(digits)) : undefined;
  }

  byKey(key: string): Job | undefined {
    const number = this.#byKey.get(key);
    return number === undefined ? undefined : this.byNumber(number);
  }

  /** Moves the job to those that have ended; of them, those go that are not to be kept any more. */
  ended(job: Job, now: Millis): void {
    this.#moveToEnded(job);
    this.forgetOld(now);
  }

  #moveToEnded(job: Job): void {
    this.#active.delete(job.number);
    this.#ended.set(job.number, job);
    this.#holdings.jobEnded(job.number);
    this.#countActive(job, -1);
  }

  #countActive({ spec: { user } }: Job, change: 1 | -1): void {
    const count = this.activeOf(user) + change;
    if (count === 0) this.#activeByUser.delete(user);
    else this.#activeByUser.set(user, count);
  }

  /** Forgets the ended jobs that are too many, or too old. */
  forgetOld(now: Millis): void {
    const { jobsMax, keepMs, bytesMax } = this.#retention;
    for (const [number, { endedAt }] of this.#ended) {
      const isTooMany = this.#ended.size > jobsMax || this.#holdings.ended > bytesMax;
      if (!isTooMany && now - endedAt! <= keepMs) return;
      this.#ended.delete(number);
      this.#holdings.forget(number);
      this.logs.forget(number);
      const key = this.#keys.get(number);
      if (key !== undefined) this.#byKey.delete(key);
      this.#keys.delete(number);
      this.#retention.forgot(number, now);
    }
  }
}

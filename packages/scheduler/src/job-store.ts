import type { Job } from './job.js';
import { TaskLogs } from './task-logs.js';

/** The jobs of one owner: those that have not ended, and the last of those that have. */
export class JobStore {
  readonly logs: TaskLogs;
  readonly #tag: string;
  readonly #endedMax: number;
  readonly #active = new Map<number, Job>();
  /** In the order in which they ended. */
  readonly #ended = new Map<number, Job>();
  readonly #byKey = new Map<string, number>();
  readonly #keys = new Map<number, string>();
  #next = 1;

  constructor(tag: string, endedMax: number, logBytesMax: number) {
    this.#tag = tag;
    this.#endedMax = endedMax;
    this.logs = new TaskLogs(logBytesMax);
  }

  get activeCount(): number {
    return this.#active.size;
  }

  nextName(): { number: number; id: string } {
    const number = this.#next++;
    return { number, id: `${this.#tag}-${number}` };
  }

  add(job: Job, key: string | undefined): void {
    this.#active.set(job.number, job);
    if (key === undefined) return;
    this.#byKey.set(key, job.number);
    this.#keys.set(job.number, key);
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

  /** Moves the job to those that have ended; the oldest of them go when there are too many. */
  ended(job: Job): void {
    this.#active.delete(job.number);
    this.#ended.set(job.number, job);
    while (this.#ended.size > this.#endedMax) {
      const oldest = this.#ended.keys().next().value!;
      this.#ended.delete(oldest);
      this.logs.forget(oldest);
      const key = this.#keys.get(oldest);
      if (key !== undefined) this.#byKey.delete(key);
      this.#keys.delete(oldest);
    }
  }
}

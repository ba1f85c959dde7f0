import { type JobNumber, type JobState, sumOf } from '@goshawk/core';
import type { Job } from '../job/job.js';

/** Rows of jobs that went are swept out when there are more of them than others, and than this. */
const GONE_MIN = 64;

/**
 * Jobs that have ended and are in memory, in the order in which they ended. Who lists them looks at two columns: the jobs
 * themselves lie all over memory, and to look at ten thousand of them holds up all other work for milliseconds.
 */
export class EndedJobs {
  readonly #jobs = new Map<number, Job>();
  readonly #counts = new Map<JobState, number>();
  /** In order, with rows of jobs that went. */
  #numbers: number[] = [];
  #states: JobState[] = [];
  /** No row before it is of a job that is here. */
  #firstRow = 0;

  get size(): number {
    return this.#jobs.size;
  }

  get(number: JobNumber): Job | undefined {
    return this.#jobs.get(number);
  }

  /** The one that ended first. Not by the map, which steps over all that it has lost at its beginning each time. */
  get first(): Job | undefined {
    for (; this.#firstRow < this.#numbers.length; this.#firstRow++) {
      const job = this.#jobs.get(this.#numbers[this.#firstRow]!);
      if (job !== undefined) return job;
    }
    return undefined;
  }

  /** The first that ended first. */
  values(): Iterable<Job> {
    return this.#jobs.values();
  }

  add(job: Job): void {
    const { number, state } = job;
    this.#jobs.set(number, job);
    this.#counts.set(state, this.count([state]) + 1);
    this.#numbers.push(number);
    this.#states.push(state);
  }

  /** @returns whether it was here */
  delete({ number, state }: Job): boolean {
    if (!this.#jobs.delete(number)) return false;
    this.#counts.set(state, this.count([state]) - 1);
    if (this.#numbers.length > 2 * this.size + GONE_MIN) this.#sweep();
    return true;
  }

  /** So many are in one of these states. */
  count(states: readonly JobState[]): number {
    return sumOf(states, (state) => this.#counts.get(state) ?? 0);
  }

  /** Those in one of these states, latest first. */
  *newestFirst(states: readonly JobState[]): Iterable<Job> {
    let left = this.count(states);
    for (let row = this.#numbers.length - 1; row >= 0 && left > 0; row--) {
      if (!states.includes(this.#states[row]!)) continue;
      const job = this.#jobs.get(this.#numbers[row]!);
      if (job === undefined) continue;
      left--;
      yield job;
    }
  }

  /** They came in some other order. */
  sort(): void {
    const jobs = [...this.#jobs.values()].sort((one, other) => one.endedAt! - other.endedAt!);
    this.#jobs.clear();
    for (const job of jobs) this.#jobs.set(job.number, job);
    this.#sweep();
  }

  #sweep(): void {
    const jobs = [...this.#jobs.values()];
    this.#numbers = jobs.map(({ number }) => number);
    this.#states = jobs.map(({ state }) => state);
    this.#firstRow = 0;
  }
}

import { type JobNumber, type JobState, sumOf } from '@goshawk/core';
import type { Job } from '../job/job.js';

/** Rows are compacted when rows of removed jobs outnumber the others by more than this. */
const REMOVED_ROWS_MIN = 64;
const NO_JOB = -1;

/**
 * Ended jobs in memory, in the order in which they ended. Lists read two columns, because visiting ten thousand job
 * objects, which are scattered in memory, would take milliseconds.
 */
export class EndedJobs {
  readonly #jobs = new Map<number, Job>();
  readonly #counts = new Map<JobState, number>();
  /** Job numbers in order; NO_JOB in rows of removed jobs. */
  #numbers: number[] = [];
  #states: JobState[] = [];
  readonly #rows = new Map<number, number>();
  /** All rows before this one belong to removed jobs. */
  #firstRow = 0;

  get size(): number {
    return this.#jobs.size;
  }

  get(number: JobNumber): Job | undefined {
    return this.#jobs.get(number);
  }

  /** The job that ended first. The first key of the map would be slower: its iterator skips deleted keys each time. */
  get first(): Job | undefined {
    for (; this.#firstRow < this.#numbers.length; this.#firstRow++) {
      const job = this.#jobs.get(this.#numbers[this.#firstRow]!);
      if (job !== undefined) return job;
    }
    return undefined;
  }

  /** All jobs, in the order in which they ended. */
  values(): Iterable<Job> {
    return this.#jobs.values();
  }

  add(job: Job): void {
    const { number, state } = job;
    this.#jobs.set(number, job);
    this.#counts.set(state, this.count([state]) + 1);
    this.#rows.set(number, this.#numbers.length);
    this.#numbers.push(number);
    this.#states.push(state);
  }

  /** Removes a job. @returns whether it was present */
  delete({ number, state }: Job): boolean {
    if (!this.#jobs.delete(number)) return false;
    this.#counts.set(state, this.count([state]) - 1);
    // If the job is retried and ends again, it gets another row.
    this.#numbers[this.#rows.get(number)!] = NO_JOB;
    this.#rows.delete(number);
    if (this.#numbers.length > 2 * this.size + REMOVED_ROWS_MIN) this.#compact();
    return true;
  }

  /** Number of jobs in these states. */
  count(states: readonly JobState[]): number {
    return sumOf(states, (state) => this.#counts.get(state) ?? 0);
  }

  /** Jobs in these states, newest first. */
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

  /** Sorts the jobs by the time at which they ended. */
  sort(): void {
    const jobs = [...this.#jobs.values()].sort((one, other) => one.times.endedAt! - other.times.endedAt!);
    this.#jobs.clear();
    for (const job of jobs) this.#jobs.set(job.number, job);
    this.#compact();
  }

  #compact(): void {
    const jobs = [...this.#jobs.values()];
    this.#numbers = jobs.map(({ number }) => number);
    this.#states = jobs.map(({ state }) => state);
    for (const [row, number] of this.#numbers.entries()) this.#rows.set(number, row);
    this.#firstRow = 0;
  }
}

import { counted, formatCount, sumOf } from '@goshawk/core';
import type { RunProgress, RunRequest } from './request.js';

/** Tracks the progress of several runs, some of which are concurrent. */
export class RunsTracker {
  readonly #requests: readonly RunRequest[];
  readonly #latest = new Map<number, RunProgress>();
  readonly #startedAt = performance.now();

  constructor(requests: readonly RunRequest[]) {
    this.#requests = requests;
  }

  note(index: number, progress: RunProgress): void {
    this.#latest.set(index, progress);
  }

  /** Jobs of all runs; a job that runs twice counts twice. */
  get jobs(): number {
    return sumOf(this.#requests, ({ jobs }) => jobs);
  }

  get jobsDone(): number {
    return this.#sum('jobsDone');
  }

  /** Returns the text beside the progress bar. */
  describe(): string {
    const perMs = this.#sum('events') / (performance.now() - this.#startedAt);
    const at = Math.max(...[...this.#latest.values()].map(({ simulatedSeconds }) => simulatedSeconds));
    return `${formatCount(Math.round(perMs))} k events/s, at ${seconds(at)}`;
  }

  /**
   * Describes the progress of an interrupted command.
   *
   * @param lost ending of the message, which says what the interruption cost
   */
  interruptedNote(lost = 'nothing was written'): string {
    const underway = [...this.#latest]
      .sort(([a], [b]) => a - b)
      .filter(([index, { jobsDone }]) => jobsDone < this.#requests[index]!.jobs)
      .map(([index, { simulatedSeconds }]) => `${this.#nameOf(index)} at ${seconds(simulatedSeconds)}`);
    const where = underway.length === 0 ? '' : `, ${underway.join(', ')} of simulated time`;
    return `${formatCount(this.jobsDone)} of ${counted(this.jobs, 'job')} simulated${where}; ${lost}`;
  }

  #nameOf(index: number): string {
    const { policy, seed } = this.#requests[index]!;
    const hasSeeds = this.#requests.some((request) => request.seed !== seed);
    return hasSeeds ? `${policy.policy} (seed ${seed})` : policy.policy;
  }

  #sum(field: keyof RunProgress): number {
    return sumOf([...this.#latest.values()], (one) => one[field]);
  }
}

function seconds(value: number): string {
  return `${formatCount(Math.round(value))} s`;
}

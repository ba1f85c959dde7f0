import { Samples } from '@goshawk/core';
import type { PredictorAccuracy } from './comparison.js';
import { type Distribution, summariseSorted } from './distribution.js';

/** Estimate and truth of a job. */
export interface PredictedJob {
  readonly trueMeanSeconds: number;
  /** Sum of the true run times of its tasks. */
  readonly taskSeconds: number;
  /** Whether the job was treated as a long job. */
  readonly judgedLong: boolean;
  /** Undefined if there was no estimate. */
  readonly estimateSeconds: number | undefined;
  /** Number of pilot tasks; 0 if the job was not sampled. */
  readonly pilots: number;
  /** Time from submission to the decision by pilots; undefined without pilots. */
  readonly decidedSeconds: number | undefined;
}

/** Measures the accuracy of an estimator over the jobs of a run. */
export class PredictorTally {
  readonly #cutoffSeconds: number;
  readonly #errors = new Samples();
  readonly #decided = new Samples();
  #jobs = 0;
  #sampled = 0;
  #pilots = 0;
  #wrongJobs = 0;
  #taskSeconds = 0;
  #shortForLong = 0;
  #longForShort = 0;

  constructor(cutoffSeconds: number) {
    this.#cutoffSeconds = cutoffSeconds;
  }

  add(job: PredictedJob): void {
    const { trueMeanSeconds, taskSeconds, judgedLong, estimateSeconds } = job;
    this.#jobs++;
    this.#taskSeconds += taskSeconds;
    if (job.pilots > 0) this.#sampled++;
    this.#pilots += job.pilots;
    if (job.decidedSeconds !== undefined) this.#decided.push(job.decidedSeconds);
    if (estimateSeconds !== undefined && trueMeanSeconds > 0)
      this.#errors.push(Math.abs(estimateSeconds - trueMeanSeconds) / trueMeanSeconds);
    const isLong = trueMeanSeconds >= this.#cutoffSeconds;
    if (isLong === judgedLong) return;
    this.#wrongJobs++;
    if (isLong) this.#shortForLong += taskSeconds;
    else this.#longForShort += taskSeconds;
  }

  accuracy(): PredictorAccuracy {
    const errors = summariseSorted(this.#errors.sorted());
    const ofWork = (seconds: number) => (this.#taskSeconds > 0 ? (100 * seconds) / this.#taskSeconds : 0);
    return {
      jobsSampled: this.#sampled,
      pilotTasks: this.#pilots,
      meanAbsoluteErrorPercent: percent(errors, 'mean'),
      medianAbsoluteErrorPercent: percent(errors, 'p50'),
      p90AbsoluteErrorPercent: percent(errors, 'p90'),
      misclassifiedPercent: ofWork(this.#shortForLong + this.#longForShort),
      takenForShortPercent: ofWork(this.#shortForLong),
      takenForLongPercent: ofWork(this.#longForShort),
      misclassifiedJobsPercent: this.#jobs === 0 ? null : (100 * this.#wrongJobs) / this.#jobs,
      decisionSeconds: this.#decided.length === 0 ? null : summariseSorted(this.#decided.sorted()),
    };
  }
}

function percent(errors: Distribution, of: 'mean' | 'p50' | 'p90'): number | null {
  const value = errors[of];
  return value === null ? null : 100 * value;
}

import { type JobOutline, type Millis, meanOf, type Random, type StageOutline } from '@goshawk/core';

/** What is known about the run times of a stage. */
export interface Known {
  readonly meanMs: Millis;
  /** Uncertainty of the mean, as a standard deviation of its logarithm. */
  readonly sigma: number;
  /** Coefficient of variation of single tasks. */
  readonly variation: number;
  /** Whether tasks of the stage have shown or declared their run times. */
  readonly isMeasured: boolean;
}

/** Completed tasks whose mean replaces an estimate. */
const MEASURED_RUNS = 3;
/** Uncertainty of an estimate, and variation of tasks, before any has been compared with run times. */
const SIGMA_FIRST = 0.7;
const VARIATION_FIRST = 0.5;
/** Weight of these first values, in jobs. */
const FIRST_JOBS = 5;
/** Jobs over which errors are averaged. */
const JOBS_KEPT = 200;
/** Uncertainty of a run time about which nothing is known. */
const SIGMA_UNKNOWN = 1;
/** Attempts to draw a run time that is longer than the task has run. */
const DRAWS = 20;

/** Learns how wrong estimates are, and how much the tasks of a stage differ, from the stages that it sees. */
export class RunTimes {
  readonly #errors: number[] = [];
  readonly #variations: number[] = [];
  /** Jobs that have been counted, in order. */
  readonly #counted = new Set<string>();
  /** Estimates of each stage before any of its tasks had completed. Later ones contain what these have shown. */
  readonly #firstEstimates = new Map<string, (Millis | undefined)[]>();

  /** Counts a job once three of its tasks have completed. @param key identifies the job */
  learn(key: string, { stages }: JobOutline): void {
    if (this.#counted.has(key)) return;
    const first = this.#firstEstimates.get(key) ?? [];
    for (const [index, { completed, estimateMs }] of stages.entries())
      if (completed === 0) first[index] ??= estimateMs;
    this.#firstEstimates.set(key, first);
    const measured = [...stages.entries()].filter(([, { completed }]) => completed >= MEASURED_RUNS);
    if (measured.length === 0) return;
    this.#counted.add(key);
    this.#firstEstimates.delete(key);
    for (const [index, { meanMs, deviationMs }] of measured) {
      if (meanMs <= 0) continue;
      keep(this.#variations, deviationMs / meanMs);
      const estimateMs = first[index] ?? 0;
      if (estimateMs > 0) keep(this.#errors, Math.log(meanMs / estimateMs));
    }
    if (this.#counted.size > JOBS_KEPT) this.#counted.delete(this.#counted.values().next().value!);
  }

  /** Forgets jobs that are not listed any more. */
  keepOnly(jobs: ReadonlySet<string>): void {
    for (const job of this.#firstEstimates.keys()) if (!jobs.has(job)) this.#firstEstimates.delete(job);
  }

  /** @returns undefined if nothing is known about the run times of the stage */
  of({
    declaredMs,
    declaredDeviationMs = 0,
    completed,
    meanMs,
    deviationMs,
    estimateMs,
    running,
  }: StageOutline): Known | undefined {
    const declared = running.filter((run) => run.declaredMs > 0);
    const declaredMeanMs =
      declaredMs ?? (declared.length === 0 ? undefined : meanOf(declared, (run) => run.declaredMs));
    if (declaredMeanMs !== undefined && declaredMeanMs > 0)
      return {
        meanMs: declaredMeanMs,
        sigma: 0,
        variation: declaredDeviationMs / declaredMeanMs,
        isMeasured: true,
      };
    const usual = rootMeanSquare(this.#variations, VARIATION_FIRST);
    if (completed >= MEASURED_RUNS && meanMs > 0) {
      const variation = deviationMs / meanMs;
      return { meanMs, sigma: Math.max(variation, 0.02) / Math.sqrt(completed), variation, isMeasured: true };
    }
    if (estimateMs !== undefined)
      return {
        meanMs: estimateMs,
        sigma: rootMeanSquare(this.#errors, SIGMA_FIRST),
        variation: usual,
        isMeasured: false,
      };
    if (completed > 0 && meanMs > 0)
      return { meanMs, sigma: usual / Math.sqrt(completed), variation: usual, isMeasured: false };
    return undefined;
  }
}

function keep(values: number[], value: number): void {
  values.push(value);
  if (values.length > JOBS_KEPT) values.shift();
}

function rootMeanSquare(values: readonly number[], first: number): number {
  const sum = values.reduce((squares, value) => squares + value * value, FIRST_JOBS * first * first);
  return Math.sqrt(sum / (values.length + FIRST_JOBS));
}

/** Assumed of a stage about which nothing is known. @param meanMs mean of the others */
export function assumed(meanMs: Millis): Known {
  return { meanMs, sigma: SIGMA_UNKNOWN, variation: VARIATION_FIRST, isMeasured: false };
}

/** Draws run times of the tasks of one stage in one possible future. */
export class StageDraws {
  readonly #random: Random;
  readonly #mean: Millis;
  readonly #deviation: number;

  /**
   * @param random of this stage and future
   * @param deviate standard normal deviate of the job's mean
   */
  constructor({ meanMs, sigma, variation }: Known, deviate: number, random: Random) {
    this.#random = random;
    this.#deviation = Math.sqrt(Math.log1p(variation * variation));
    this.#mean = meanMs * Math.exp(sigma * deviate);
  }

  /** The run time of a waiting task. */
  runMs(): Millis {
    const log = this.#deviation * normalDeviate(this.#random.next()) - this.#deviation ** 2 / 2;
    return Math.max(MIN_MS, this.#mean * Math.exp(log));
  }

  /** The rest of the run time of a task that has run for this long. */
  remainingMs({ elapsedMs, declaredMs }: StageOutline['running'][number]): Millis {
    if (declaredMs > 0) return Math.max(MIN_MS, declaredMs - elapsedMs);
    for (let draw = 0; draw < DRAWS; draw++) {
      const runMs = this.runMs();
      if (runMs > elapsedMs) return runMs - elapsedMs;
    }
    // It has run longer than expected: the longer, the longer it may still run.
    return Math.max(MIN_MS, -Math.log(1 - this.#random.next()) * elapsedMs);
  }
}

const MIN_MS: Millis = 0.1;

/** Returns the standard normal quantile of a probability, by Acklam's approximation. */
export function normalDeviate(probability: number): number {
  const p = Math.min(1 - 1e-9, Math.max(1e-9, probability));
  if (p > 0.5) return -normalDeviate(1 - p);
  if (p < 0.02425) {
    const q = Math.sqrt(-2 * Math.log(p));
    return (
      (((((-7.784894002430293e-3 * q - 0.3223964580411365) * q - 2.400758277161838) * q - 2.549732539343734) *
        q +
        4.374664141464968) *
        q +
        2.938163982698783) /
      ((((7.784695709041462e-3 * q + 0.3224671290700398) * q + 2.445134137142996) * q + 3.754408661907416) *
        q +
        1)
    );
  }
  const q = p - 0.5;
  const r = q * q;
  return (
    ((((((-39.69683028665376 * r + 220.9460984245205) * r - 275.9285104469687) * r + 138.357751867269) * r -
      30.66479806614716) *
      r +
      2.506628277459239) *
      q) /
    (((((-54.47609879822406 * r + 161.5858368580409) * r - 155.6989798598866) * r + 66.80131188771972) * r -
      13.28068155288572) *
      r +
      1)
  );
}

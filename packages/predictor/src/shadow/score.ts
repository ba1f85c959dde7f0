import type { Millis } from '@goshawk/core';
import { Histogram } from '../history/histogram.js';

/** What was believed of a job that completed, and what was true. */
export interface ScoredJob {
  readonly trueMeanMs: Millis;
  readonly tasks: number;
  /** Undefined where nothing was believed. */
  readonly estimateMs: Millis | undefined;
  readonly pilots: number;
  /** From its submission until it was decided upon, had its pilots started at once. */
  readonly delayMs: Millis;
  /** How many jobs like it there had been; undefined where that cannot be told. */
  readonly seenBefore: number | undefined;
}

/** Percentages of |estimate − truth| ÷ truth; null where there was no estimate. */
export interface ErrorPercent {
  readonly p50: number | null;
  readonly p90: number | null;
  readonly mean: number | null;
}

export interface GroupScore {
  readonly group: string;
  readonly jobs: number;
  readonly errorPercent: ErrorPercent;
  readonly misclassifiedJobsPercent: number | null;
  readonly misclassifiedTaskSecondsPercent: number | null;
}

export interface EstimatorScore extends Omit<GroupScore, 'group'> {
  readonly estimator: string;
  /** Jobs of which something was believed. */
  readonly estimated: number;
  readonly sampled: number;
  readonly pilots: number;
  /** What the decisions cost, over all jobs; null for no jobs. */
  readonly delaySeconds: { readonly mean: number; readonly p50: number; readonly p90: number } | null;
  readonly bySize: readonly GroupScore[];
  readonly byRecurrence: readonly GroupScore[];
}

/** By the number of tasks, up to and including. */
const SIZES = [
  ['1–2 tasks', 2],
  ['3–9 tasks', 9],
  ['10–99 tasks', 99],
  ['100–999 tasks', 999],
  ['1,000 tasks and more', Number.POSITIVE_INFINITY],
] as const;

/** By the number of jobs of the same user and name before. */
const RECURRENCES = [
  ['new', 0],
  ['seen 1–9 times', 9],
  ['seen 10 times and more', Number.POSITIVE_INFINITY],
] as const;
const UNKNOWN = 'without a name';

/** Errors are counted in bins of a histogram, so that a scoreboard of a cluster that runs for months stays small. */
const BINS = 400;

/** How good an estimator was, job by job. */
export class Score {
  readonly #cutoffMs: Millis;
  readonly #all: Group;
  readonly #bySize: readonly Group[];
  readonly #byRecurrence: readonly Group[];
  readonly #delays = new Histogram(BINS);
  #estimated = 0;
  #sampled = 0;
  #pilots = 0;

  constructor(cutoffMs: Millis) {
    this.#cutoffMs = cutoffMs;
    this.#all = new Group('all');
    this.#bySize = SIZES.map(([name]) => new Group(name));
    this.#byRecurrence = [...RECURRENCES.map(([name]) => new Group(name)), new Group(UNKNOWN)];
  }

  add(job: ScoredJob): void {
    const { trueMeanMs, tasks, estimateMs, pilots, delayMs, seenBefore } = job;
    if (estimateMs !== undefined) this.#estimated++;
    if (pilots > 0) this.#sampled++;
    this.#pilots += pilots;
    this.#delays.add(delayMs);
    // Of what nothing is known is short.
    const isWrong = (estimateMs ?? 0) >= this.#cutoffMs !== trueMeanMs >= this.#cutoffMs;
    const error =
      estimateMs === undefined || !(trueMeanMs > 0)
        ? undefined
        : Math.abs(estimateMs - trueMeanMs) / trueMeanMs;
    const recurrence =
      seenBefore === undefined ? RECURRENCES.length : RECURRENCES.findIndex(([, most]) => seenBefore <= most);
    const size = SIZES.findIndex(([, most]) => tasks <= most);
    for (const group of [this.#all, this.#bySize[size]!, this.#byRecurrence[recurrence]!]) {
      group.add(error, trueMeanMs * tasks, isWrong);
    }
  }

  result(estimator: string): EstimatorScore {
    const { group: _, ...all } = this.#all.result();
    const delays = this.#delays;
    const present = (groups: readonly Group[]) =>
      groups.map((group) => group.result()).filter(({ jobs }) => jobs > 0);
    return {
      estimator,
      ...all,
      estimated: this.#estimated,
      sampled: this.#sampled,
      pilots: this.#pilots,
      delaySeconds:
        delays.count === 0
          ? null
          : {
              mean: delays.mean / 1_000,
              p50: delays.quantile(0.5) / 1_000,
              p90: delays.quantile(0.9) / 1_000,
            },
      bySize: present(this.#bySize),
      byRecurrence: present(this.#byRecurrence),
    };
  }
}

class Group {
  readonly #name: string;
  readonly #errors = new Histogram(BINS);
  #jobs = 0;
  #wrongJobs = 0;
  #taskMs = 0;
  #wrongTaskMs = 0;

  constructor(name: string) {
    this.#name = name;
  }

  add(error: number | undefined, taskMs: Millis, isWrong: boolean): void {
    this.#jobs++;
    this.#taskMs += taskMs;
    if (error !== undefined) this.#errors.add(error);
    if (!isWrong) return;
    this.#wrongJobs++;
    this.#wrongTaskMs += taskMs;
  }

  result(): GroupScore {
    const errors = this.#errors;
    const percent = (value: number) => (errors.count === 0 ? null : 100 * value);
    return {
      group: this.#name,
      jobs: this.#jobs,
      errorPercent: {
        p50: percent(errors.quantile(0.5)),
        p90: percent(errors.quantile(0.9)),
        mean: percent(errors.mean),
      },
      misclassifiedJobsPercent: this.#jobs === 0 ? null : (100 * this.#wrongJobs) / this.#jobs,
      misclassifiedTaskSecondsPercent: this.#taskMs > 0 ? (100 * this.#wrongTaskMs) / this.#taskMs : null,
    };
  }
}

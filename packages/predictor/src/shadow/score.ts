import type { Millis, OutputsOf } from '@goshawk/core';
import { z } from 'zod';
import { type BucketCounts, countIn, quantileOf } from './log-buckets.js';

/** Estimate and truth of a completed job. */
interface ScoredJob {
  readonly trueMeanMs: Millis;
  readonly tasks: number;
  /** undefined without an estimate. */
  readonly estimateMs: Millis | undefined;
  readonly pilots: number;
  /** Time from submission to the decision, if its pilots had started immediately. */
  readonly delayMs: Millis;
  /** Number of earlier similar jobs; undefined: unknown. */
  readonly seenBefore: number | undefined;
}

/** Accuracy of an estimator over a group of jobs, in percent; null if there is nothing to measure. */
export interface GroupScore {
  readonly group: string;
  readonly jobs: number;
  /** |estimate − truth| ÷ truth. */
  readonly errorPercent: {
    readonly p50: number | null;
    readonly p90: number | null;
    readonly mean: number | null;
  };
  /** Misclassified jobs, and their share of the group's task seconds. */
  readonly misclassifiedJobsPercent: number | null;
  readonly misclassifiedTaskSecondsPercent: number | null;
}

/** The score of an estimator in shadow: it estimated every job without affecting scheduling. */
export interface EstimatorScore extends Omit<GroupScore, 'group'> {
  readonly estimator: string;
  /** Number of jobs with an estimate. */
  readonly estimated: number;
  /** Number of jobs with pilots, and of these pilots. */
  readonly sampled: number;
  readonly pilots: number;
  /** From submission to decision over all jobs, if their pilots had started immediately; null without jobs. */
  readonly delaySeconds: { readonly mean: number; readonly p50: number; readonly p90: number } | null;
  readonly bySize: readonly GroupScore[];
  readonly byRecurrence: readonly GroupScore[];
}

/** Groups by number of tasks, up to and including these. */
const SIZES = [
  ['1–2 tasks', 2],
  ['3–9 tasks', 9],
  ['10–99 tasks', 99],
  ['100–999 tasks', 999],
  ['1,000 tasks and more', Number.POSITIVE_INFINITY],
] as const;

/** Groups by number of earlier jobs with the same user and name. */
const RECURRENCES = [
  ['new', 0],
  ['seen 1–9 times', 9],
  ['seen 10 times and more', Number.POSITIVE_INFINITY],
] as const;
const UNKNOWN = 'without a name';

/** The counts of a score, which can be summed over parties: numbers or groups of counts. */
export type ScoreCounts = ReturnType<typeof noCounts>;

function noCounts() {
  return {
    estimated: 0,
    sampled: 0,
    pilots: 0,
    delayMs: 0,
    delays: {} as BucketCounts,
    /** Groups by name; every job is in `all`, in one size and in one recurrence. */
    groups: {} as Record<string, GroupCounts>,
  };
}

type GroupCounts = ReturnType<typeof noGroupCounts>;

function noGroupCounts() {
  return {
    jobs: 0,
    wrongJobs: 0,
    taskMs: 0,
    wrongTaskMs: 0,
    /** Sum over the jobs with an estimate. */
    errorSum: 0,
    erring: 0,
    errors: {} as BucketCounts,
  };
}

const ALL = 'all';

/** Accuracy of an estimator, accumulated job by job as counts, so that months of jobs take little space. */
export class Score {
  readonly #cutoffMs: Millis;
  /** Current counts; a live object. */
  readonly counts = noCounts();

  constructor(cutoffMs: Millis) {
    this.#cutoffMs = cutoffMs;
  }

  add(job: ScoredJob): void {
    const { trueMeanMs, tasks, estimateMs, pilots, delayMs, seenBefore } = job;
    const { counts } = this;
    if (estimateMs !== undefined) counts.estimated++;
    if (pilots > 0) counts.sampled++;
    counts.pilots += pilots;
    counts.delayMs += delayMs;
    countIn(counts.delays, delayMs);
    // Jobs without an estimate count as short.
    const isWrong = (estimateMs ?? 0) >= this.#cutoffMs !== trueMeanMs >= this.#cutoffMs;
    const error =
      estimateMs === undefined || !(trueMeanMs > 0)
        ? undefined
        : Math.abs(estimateMs - trueMeanMs) / trueMeanMs;
    const [size] = SIZES.find(([, most]) => tasks <= most)!;
    const recurrence =
      seenBefore === undefined ? UNKNOWN : RECURRENCES.find(([, most]) => seenBefore <= most)![0];
    for (const name of [ALL, size, recurrence]) {
      counts.groups[name] ??= noGroupCounts();
      addTo(counts.groups[name], error, trueMeanMs * tasks, isWrong);
    }
  }
}

function addTo(group: GroupCounts, error: number | undefined, taskMs: Millis, isWrong: boolean): void {
  group.jobs++;
  group.taskMs += taskMs;
  if (error !== undefined) {
    group.erring++;
    group.errorSum += error;
    countIn(group.errors, error);
  }
  if (!isWrong) return;
  group.wrongJobs++;
  group.wrongTaskMs += taskMs;
}

/** Computes a score from the counts of one party, or from summed counts. */
export function scoreOf(estimator: string, counts: ScoreCounts): EstimatorScore {
  const { groups, estimated, sampled, pilots, delayMs } = counts;
  const present = (names: readonly string[]) =>
    names.flatMap((name) => (groups[name] === undefined ? [] : [groupScore(name, groups[name])]));
  const { group: _, ...all } = groupScore(ALL, groups[ALL] ?? noGroupCounts());
  return {
    estimator,
    ...all,
    estimated,
    sampled,
    pilots,
    delaySeconds:
      all.jobs === 0
        ? null
        : {
            mean: delayMs / all.jobs / 1_000,
            p50: quantileOf(counts.delays, 0.5) / 1_000,
            p90: quantileOf(counts.delays, 0.9) / 1_000,
          },
    bySize: present(SIZES.map(([name]) => name)),
    byRecurrence: present([...RECURRENCES.map(([name]) => name), UNKNOWN]),
  };
}

/**
 * Scores of the shadow estimators, from the summed counts of all schedulers.
 *
 * @param shadow counts by estimator
 */
export function scoresOf(shadow: unknown): EstimatorScore[] {
  if (typeof shadow !== 'object' || shadow === null) return [];
  return Object.entries(shadow).map(([name, counts]) => scoreOf(name, counts as ScoreCounts));
}

function groupScore(group: string, counts: GroupCounts): GroupScore {
  const { jobs, wrongJobs, taskMs, wrongTaskMs, errorSum, erring, errors } = counts;
  const percent = (value: number) => (erring === 0 ? null : 100 * value);
  return {
    group,
    jobs,
    errorPercent: {
      p50: percent(quantileOf(errors, 0.5)),
      p90: percent(quantileOf(errors, 0.9)),
      mean: percent(errorSum / erring),
    },
    misclassifiedJobsPercent: jobs === 0 ? null : (100 * wrongJobs) / jobs,
    misclassifiedTaskSecondsPercent: taskMs > 0 ? (100 * wrongTaskMs) / taskMs : null,
  };
}

const count = z.int().nonnegative();
const percent = z.number().nullable();

const scored = {
  jobs: count,
  errorPercent: z.object({ p50: percent, p90: percent, mean: percent }),
  misclassifiedJobsPercent: percent,
  misclassifiedTaskSecondsPercent: percent,
};
const groups = z.array(z.object({ group: z.string(), ...scored }));

/** For published schemas. */
export const estimatorScoreShape = z.object({
  estimator: z.string(),
  ...scored,
  estimated: count,
  sampled: count,
  pilots: count,
  delaySeconds: z.object({ mean: z.number(), p50: z.number(), p90: z.number() }).nullable(),
  bySize: groups,
  byRecurrence: groups,
}) satisfies z.ZodType<EstimatorScore>;

/** The accuracy of all shadow estimators, from the command and over HTTP. */
export const predictorShape = z.object({
  schema: z.literal('goshawk.predictor/1'),
  estimators: z.array(estimatorScoreShape),
  silent: z.array(z.string()),
});

declare module '@goshawk/core' {
  interface Outputs extends OutputsOf<typeof predictorShape> {}
}

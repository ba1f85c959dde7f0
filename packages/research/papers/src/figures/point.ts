import type { ByClass, Distribution, UtilisationLevels } from '@goshawk/report';
import type { Tick } from './axis.js';
import type { EstimateAccuracy, Speedup, WaitShares, WindowLoad } from './jobwise.js';

/** Measurements of one variant at one point of the axis: means over its seeds. */
export interface Measured {
  readonly runtimeSeconds: ByClass<Distribution>;
  /** Share of busy slots, over snapshots taken while jobs are submitted. */
  readonly busy: UtilisationLevels;
  /** Run times of all seeds together at each integer percentile, 0 to 100; empty without jobs of the class. */
  readonly percentiles: ByClass<readonly number[]>;
}

/** Shares of the jobs of one variant, compared with the same jobs under another variant. */
export interface Paired {
  readonly improved: number;
  /** Share of jobs that take less than half as long. */
  readonly improvedByHalf: number;
  readonly betterOrEqual: number;
}

/** All measurements at one point of the axis. */
export interface Point {
  readonly tick: Tick;
  /** Measurements by variant. */
  readonly measured: Readonly<Record<string, Measured>>;
  /** Comparisons by `pairName`; null for a class without jobs. */
  readonly paired: Readonly<Record<string, ByClass<Paired | null>>>;
  /** Predicted figures, by variant: |estimate − truth| ÷ truth at each integer percentile, 0 to 100. */
  readonly errors?: Readonly<Record<string, readonly number[]>>;
  /** Modelled figures, by variant. */
  readonly queues?: Readonly<Record<string, Queue>>;
  /** Speed-ups by `pairName`, if jobs were compared. */
  readonly speedups?: Readonly<Record<string, Speedup>>;
  readonly waits?: Readonly<Record<string, WaitShares>>;
  /** Load in windows of time, by variant; equal for variants of the same jobs. */
  readonly loads?: Readonly<Record<string, WindowLoad>>;
  /** Estimates by variant. */
  readonly accuracy?: Readonly<Record<string, EstimateAccuracy>>;
  /** Planned figures, by variant. */
  readonly planned?: Readonly<Record<string, Planned>>;
  /** Staged figures, by variant. */
  readonly staged?: Readonly<Record<string, Staged>>;
  /** Share of the sampled jobs by sampling ratio, by variant. */
  readonly ratios?: Readonly<Record<string, ReadonlyMap<number, number>>>;
  /** Sampling ratio of each sampled job of the first seed, in order, in percent, by variant. */
  readonly ratioCourses?: Readonly<Record<string, readonly number[]>>;
}

/** Waiting tasks of a packing policy. */
export interface Queue {
  /** The number at a time, or its mean over time, by figure. */
  readonly tasks: number;
  /** The greatest number since the previous point of the axis, or in all. */
  readonly peak: number;
}

/** Results of a resource-sharing policy for jobs with stages. */
export interface Staged {
  /** Mean time from submission to completion. */
  readonly meanSeconds: number;
  readonly p95Seconds: number;
  /** Times from submission to completion of all seeds together at each integer percentile, 0 to 100. */
  readonly percentiles: readonly number[];
  /** Time from the first submission to the last completion. */
  readonly makespanSeconds: number;
  /** Jain's index of received over fair resources; mean over windows of a minute. */
  readonly fairness: number;
  /** Share of jobs that took longer than under the first variant. */
  readonly slower: number;
  /** Share of jobs that took more than 1.25 times as long as under the first variant. */
  readonly muchSlower: number;
}

/** Results of a resource-sharing policy with one seed. */
export interface StagedRun extends Omit<Staged, 'percentiles'> {
  /** Time from submission to completion of each job. */
  readonly runtimeSeconds: readonly number[];
}

/** Results of a planning policy. */
export interface Planned {
  /** Share of jobs with a deadline that missed it. */
  readonly missed: number;
  /** Node hours of jobs that completed while jobs were still arriving. */
  readonly goodputHours: { readonly deadline: number; readonly bestEffort: number };
  /** Mean time of best-effort jobs from submission to completion; absent if no job completed. */
  readonly bestEffortSeconds?: number;
  readonly preemptions: number;
  /** Wall time of a planning cycle. */
  readonly cycleSeconds?: { readonly p50: number; readonly p99: number; readonly max: number };
  /** Wall time of the prediction for one job. */
  readonly predictionSeconds?: { readonly p50: number; readonly p99: number; readonly max: number };
}

/** Two variants to compare job by job. */
export interface Pair {
  readonly of: string;
  readonly over: string;
}

export function pairName(of: string, over: string): string {
  return `${of} against ${over}`;
}

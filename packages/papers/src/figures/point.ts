import type { ByClass, Distribution, UtilisationLevels } from '@goshawk/report';
import type { Tick } from './axis.js';
import type { Beliefs, Speedup, WaitShares } from './jobwise.js';

/** Measurements of one variant at one place of the axis: means over its seeds. */
export interface Measured {
  readonly runtimeSeconds: ByClass<Distribution>;
  /** Share of slots that are busy, over snapshots taken while jobs are submitted. */
  readonly busy: UtilisationLevels;
  /** Run times of all seeds together at each whole percentile, 0 to 100; empty without jobs of the class. */
  readonly percentiles: ByClass<readonly number[]>;
}

/** How the jobs of one variant fared against the same jobs of another: shares of them. */
export interface Paired {
  readonly improved: number;
  /** Run time less than half. */
  readonly improvedByHalf: number;
  readonly betterOrEqual: number;
}

/** All that was measured at one place of the axis. */
export interface Point {
  readonly tick: Tick;
  /** Measurements by variant. */
  readonly measured: Readonly<Record<string, Measured>>;
  /** Comparisons by `pairName`; null for a class without jobs. */
  readonly paired: Readonly<Record<string, ByClass<Paired | null>>>;
  /** For predicted figures, by variant: |estimate − truth| ÷ truth at each whole percentile, 0 to 100. */
  readonly errors?: Readonly<Record<string, readonly number[]>>;
  /** For modelled figures, by variant: waiting tasks. */
  readonly queues?: Readonly<Record<string, number>>;
  /** By `pairName`, as far as jobs were told apart. */
  readonly speedups?: Readonly<Record<string, Speedup>>;
  readonly waits?: Readonly<Record<string, WaitShares>>;
  /** Estimates by variant. */
  readonly beliefs?: Readonly<Record<string, Beliefs>>;
  /** For planned figures, by variant. */
  readonly planned?: Readonly<Record<string, Planned>>;
  /** For staged figures, by variant. */
  readonly staged?: Readonly<Record<string, Staged>>;
  /** The distribution of the chosen ratio over the sampled jobs, by variant. */
  readonly ratios?: Readonly<Record<string, ReadonlyMap<number, number>>>;
  /** The ratio for each sampled job of the first seed, in order, in percent, by variant. */
  readonly ratioCourses?: Readonly<Record<string, readonly number[]>>;
}

/** Results of a resource-sharing policy for jobs with stages. */
export interface Staged {
  /** Mean time from submission to completion. */
  readonly meanSeconds: number;
  readonly p95Seconds: number;
  /** Time from the first submission to the last completion. */
  readonly makespanSeconds: number;
  /** Jain's index of what jobs have over what they could have had; mean over windows of a minute. */
  readonly fairness: number;
  /** Shares of jobs that took longer than under the first variant, and more than 1.25 times as long. */
  readonly slower: number;
  readonly muchSlower: number;
}

/** Results of a planning policy. */
export interface Planned {
  /** Share of jobs with a deadline that missed it. */
  readonly missed: number;
  /** Node hours of jobs that completed while jobs still came. */
  readonly goodputHours: { readonly deadline: number; readonly bestEffort: number };
  /** Mean, from submission to completion; absent where none completed. */
  readonly bestEffortSeconds?: number;
  readonly preemptions: number;
  /** Wall time of planning, and of the prediction for a job. */
  readonly cycleSeconds?: { readonly p50: number; readonly p99: number; readonly max: number };
  readonly predictionSeconds?: { readonly p50: number; readonly p99: number; readonly max: number };
}

/** Two variants whose jobs are compared one by one. */
export interface Pair {
  readonly of: string;
  readonly over: string;
}

export function pairName(of: string, over: string): string {
  return `${of} against ${over}`;
}

import type { ByClass, Run, UtilisationLevels, Workload } from '@goshawk/report';
import type { Axis } from './axis.js';
import type { FigureMode, Series, Verdict } from './figure.js';
import type { Paired } from './point.js';

export const FIGURE_SCHEMA = 'goshawk.figure/1';

/** A series as it came out. */
export interface MeasuredSeries {
  readonly name: string;
  readonly unit: Series['unit'];
  /** One a place of the axis. */
  readonly values: readonly (number | null)[];
  /** Values that the paper's text states at the same places, if any. */
  readonly paper?: readonly (number | null)[];
  /** Least and greatest over the seeds, where there are several. */
  readonly spread?: readonly (readonly [least: number, greatest: number] | null)[];
}

export interface JudgedClaim {
  readonly section: string;
  readonly text: string;
  readonly verdict: Verdict;
  readonly ours: string;
}

export interface MeasuredPanel {
  readonly kind: 'lines' | 'bars' | 'table' | 'distribution' | 'course';
  readonly title: string;
  readonly axisName: string;
  readonly series: readonly MeasuredSeries[];
  /** For distributions: run times in seconds, or errors as shares, at each whole percentile, 0 to 100, by variant. */
  readonly percentiles?: Readonly<Record<string, readonly number[]>>;
  /** Kind of the percentiles; default: run times. */
  readonly percentilesOf?: 'errors';
  /** For courses: the sampling ratio of consecutive jobs, in percent, by variant. */
  readonly courses?: Readonly<Record<string, readonly number[]>>;
}

/** A figure as it came out here: what `goshawk figure --json` prints and ID.json holds. */
export interface FigureResult {
  readonly schema: typeof FIGURE_SCHEMA;
  readonly id: string;
  readonly title: string;
  readonly about: string;
  readonly paper: { readonly name: string; readonly reference: string; readonly section: string };
  readonly mode: FigureMode;
  readonly workload: Workload;
  readonly seeds: readonly number[];
  /** Cluster size, if it is the same for all runs. */
  readonly workers: number | null;
  readonly axis: {
    readonly name: string;
    readonly spacing: Axis['spacing'];
    readonly places: readonly Place[];
  };
  readonly panels: readonly MeasuredPanel[];
  readonly claims: readonly JudgedClaim[];
  readonly verdicts: Readonly<Record<Verdict, number>>;
  readonly runs: readonly PlacedRun[];
  readonly command: string;
  readonly generator: string;
}

export interface Place {
  readonly x: number;
  readonly label: string;
  /** Job by job, where the figure compares variants so. */
  readonly paired?: Readonly<Record<string, ByClass<Paired | null>>>;
}

export interface PlacedRun {
  readonly x: number;
  readonly variant: string;
  readonly busyWhileSubmitting: UtilisationLevels;
  /** Without the cluster over time, which would be most of the file. */
  readonly run: Omit<Run, 'series'>;
}

import type { ByClass, OptionValues, Run, UtilisationLevels, Workload } from '@goshawk/report';
import type { Axis } from './axis.js';
import type { ClaimKind, FigureMode, Series, Verdict } from './figure.js';
import type { Paired } from './point.js';

export const FIGURE_SCHEMA = 'goshawk.figure/1';

/** A measured series. */
export interface MeasuredSeries {
  readonly name: string;
  readonly unit: Series['unit'];
  /** One value per point of the axis. */
  readonly values: readonly (number | null)[];
  /** Values that the paper's text states at the same points, if any. */
  readonly paper?: readonly (number | null)[];
  /** Whether this project added the line to those of the paper. */
  readonly isAddition?: true;
  /** The values of each seed, one per point of the axis, if there are several seeds. */
  readonly bySeed?: readonly (readonly (number | null)[])[];
}

/** Least and greatest value over the seeds, one range per point of the axis; undefined with one seed. */
export function spreadOf({
  values,
  bySeed,
}: MeasuredSeries): (readonly [least: number, greatest: number] | null)[] | undefined {
  return bySeed === undefined
    ? undefined
    : values.map((_, at) => {
        const each = bySeed.flatMap((ofSeed) => ofSeed[at] ?? []);
        return each.length === 0 ? null : [Math.min(...each), Math.max(...each)];
      });
}

export interface JudgedClaim {
  readonly section: string;
  readonly text: string;
  readonly kind: ClaimKind;
  readonly verdict: Verdict;
  readonly ours: string;
}

export interface MeasuredPanel {
  readonly kind: 'lines' | 'bars' | 'table' | 'distribution' | 'course';
  readonly title: string;
  readonly axisName: string;
  readonly series: readonly MeasuredSeries[];
  /** Distributions, by variant: run times in seconds, or errors as fractions, at the percentiles 0 to 100. */
  readonly percentiles?: Readonly<Record<string, readonly number[]>>;
  /** Kind of the percentiles; default: run times. */
  readonly percentilesOf?: 'errors';
  /** Courses, by variant: the sampling ratio of consecutive jobs, in percent. */
  readonly courses?: Readonly<Record<string, readonly number[]>>;
}

/** A measured figure: the output of `goshawk figure --json`, and the content of ID.json. */
export interface FigureResult {
  readonly schema: typeof FIGURE_SCHEMA;
  readonly id: string;
  readonly title: string;
  readonly about: string;
  readonly paper: {
    readonly name: string;
    readonly reference: string;
    readonly section: string;
    /** Number of jobs in the paper's workload, if the paper states it. */
    readonly jobs: number | null;
  };
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
  /** Runs of figures with a cluster; those of other figures are `trials`. */
  readonly runs: readonly PlacedRun[];
  readonly trials: readonly Trial[];
  readonly command: string;
  readonly generator: string;
}

export interface Place {
  readonly x: number;
  readonly label: string;
  /** Comparisons of jobs, if the figure compares variants job by job. */
  readonly paired?: Readonly<Record<string, ByClass<Paired | null>>>;
}

export interface PlacedRun {
  readonly x: number;
  readonly variant: string;
  readonly busyWhileSubmitting: UtilisationLevels;
  /** The run without the time series of the cluster, which would be most of the file. */
  readonly run: Omit<Run, 'series'>;
}

/** One run of a policy or an estimator alone, without a cluster. */
export interface Trial {
  readonly x: number;
  readonly label: string;
  readonly variant: string;
  readonly seed: number;
  readonly workload: Pick<Workload, 'name' | 'sha256'>;
  /** Everything besides the jobs that determines the run. */
  readonly options: OptionValues;
  readonly results: object;
}

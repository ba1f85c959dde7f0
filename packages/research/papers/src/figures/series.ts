import type { JobClass } from '@goshawk/report';
import type { Series } from './figure.js';
import { type Paired, type Point, pairName } from './point.js';

export type Statistic = 'p50' | 'p90' | 'mean';

/** Fields of a point by variant, or by pair of variants. */
type Field = Exclude<keyof Point, 'tick' | 'ratioCourses'>;
type FieldValue<F extends Field> = NonNullable<Point[F]>[string];

/**
 * Creates a series from a number in a field of each point.
 *
 * @param key the variant, or the `pairName` of two variants
 */
export function seriesOf<F extends Field>(
  name: string,
  unit: Series['unit'],
  field: F,
  key: string,
  value: (found: FieldValue<F>, point: Point) => number | null | undefined,
): Series {
  return {
    name,
    unit,
    value: (point) => {
      const found = point[field]?.[key] as FieldValue<F> | undefined;
      return found === undefined ? undefined : (value(found, point) ?? undefined);
    },
  };
}

/** Adds the values that the paper's text states at some places of the axis. */
export function stated(series: Series, paper: Series['paper'] & {}): Series {
  return { ...series, paper };
}

/** The default policy, which figures add to the lines of a paper. */
export const DEFAULT_POLICY = 'goshawk';

/** Marks series that the paper does not have. */
export function additions(...series: readonly Series[]): Series[] {
  return series.map((each) => ({ ...each, isAddition: true }));
}

/** Run time of a variant. */
export function seconds(of: string, jobs: JobClass, statistic: Statistic): Series {
  const name = `${jobs} ${statistic}, ${of}`;
  return seriesOf(name, 'seconds', 'measured', of, ({ runtimeSeconds }) => runtimeSeconds[jobs][statistic]);
}

/** Divides the first series by the second, point by point. */
export function over(first: Series, second: Series, name = `${first.name} ÷ ${second.name}`): Series {
  return {
    name,
    unit: 'ratio',
    value: (point, all) => quotient(first.value(point, all), second.value(point, all)),
  };
}

/** Run time of one variant over that of another variant at the same point. Below 1, the first is faster. */
export function ratio(
  of: string,
  to: string,
  jobs: JobClass,
  statistic: Statistic,
  name = `${jobs} ${statistic}`,
): Series {
  return over(seconds(of, jobs, statistic), seconds(to, jobs, statistic), name);
}

/** The four ratios that the papers plot for two variants. */
export function percentileRatios(of: string, to: string) {
  return {
    short50: ratio(of, to, 'short', 'p50'),
    short90: ratio(of, to, 'short', 'p90'),
    long50: ratio(of, to, 'long', 'p50'),
    long90: ratio(of, to, 'long', 'p90'),
  } as const;
}

/** Run time of a variant over its run time at another point. */
export function ratioToPlace(of: string, x: number, jobs: JobClass, statistic: Statistic): Series {
  const own = seconds(of, jobs, statistic);
  return {
    name: `${jobs} ${statistic}`,
    unit: 'ratio',
    value: (point, all) => {
      const there = all.find(({ tick }) => tick.x === x);
      return there && quotient(own.value(point, all), own.value(there, all));
    },
  };
}

/** Median share of busy slots while jobs are submitted. */
export function busy(of: string, statistic: 'p50' | 'mean' | 'max' = 'p50'): Series {
  const name = `${of}, ${statistic === 'p50' ? 'median' : statistic} busy`;
  return seriesOf(name, 'share', 'measured', of, (measured) => measured.busy[statistic]);
}

/** Share of the jobs with a deadline that missed it. */
export function missed(of: string): Series {
  return seriesOf(`missed, ${of}`, 'share', 'planned', of, (planned) => planned.missed);
}

const PAIRED_NAMES: Readonly<Record<keyof Paired, string>> = {
  improved: 'improved',
  improvedByHalf: 'improved by half',
  betterOrEqual: 'better or equal',
};

/** Share of jobs with this outcome under one variant, compared with the same jobs under another variant. */
export function shareOfJobs(of: string, to: string, jobs: JobClass, how: keyof Paired): Series {
  const name = `${jobs} jobs ${PAIRED_NAMES[how]}`;
  return seriesOf(name, 'share', 'paired', pairName(of, to), (paired) => paired[jobs]?.[how]);
}

/** Share of a variant's jobs of a class that took longer than `seconds`, rounded to a percent. */
export function shareLonger(of: string, jobs: JobClass, seconds: number): Series {
  const name = `${jobs} jobs above ${seconds.toLocaleString('en-US')} s, ${of}`;
  return seriesOf(name, 'share', 'measured', of, ({ percentiles: { [jobs]: percentiles } }) => {
    if (percentiles.length === 0) return undefined;
    const below = percentiles.findLastIndex((value) => value <= seconds);
    return 1 - Math.max(0, below) / 100;
  });
}

/** Predicted figures: the error of a variant's predictions at the percentile of the point. */
export function error(of: string): Series {
  return seriesOf(of, 'share', 'errors', of, (errors, { tick }) => errors[tick.x]);
}

function quotient(value: number | undefined, by: number | undefined): number | undefined {
  return value === undefined || by === undefined || by === 0 ? undefined : value / by;
}

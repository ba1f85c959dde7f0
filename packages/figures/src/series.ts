import type { JobClass } from '@goshawk/report';
import type { Series } from './figure.js';
import { type Paired, type Point, pairName } from './point.js';

export type Statistic = 'p50' | 'p90' | 'mean';

/** With what the paper's text states at some places of the axis. */
export function stated(series: Series, paper: Series['paper'] & {}): Series {
  return { ...series, paper };
}

/** Run time of one variant over that of another, at the same place. Below 1 the first is the faster. */
export function ratio(of: string, over: string, jobs: JobClass, statistic: Statistic, name?: string): Series {
  return {
    name: name ?? `${jobs} ${statistic}`,
    unit: 'ratio',
    value: (point) => quotient(runtime(point, of, jobs, statistic), runtime(point, over, jobs, statistic)),
  };
}

/** The four ratios that the papers draw of two variants. */
export function percentileRatios(of: string, over: string) {
  return {
    short50: ratio(of, over, 'short', 'p50'),
    short90: ratio(of, over, 'short', 'p90'),
    long50: ratio(of, over, 'long', 'p50'),
    long90: ratio(of, over, 'long', 'p90'),
  } as const;
}

/** Run time of a variant over its own at another place. */
export function ratioToPlace(
  of: string,
  x: number,
  jobs: JobClass,
  statistic: Statistic,
  name?: string,
): Series {
  return {
    name: name ?? `${jobs} ${statistic}`,
    unit: 'ratio',
    value: (point, all) => {
      const there = all.find(({ tick }) => tick.x === x);
      if (there === undefined) return undefined;
      return quotient(runtime(point, of, jobs, statistic), runtime(there, of, jobs, statistic));
    },
  };
}

/** The first over the second, at the same place. */
export function over(first: Series, second: Series): Series {
  return {
    name: `${first.name} ÷ ${second.name}`,
    unit: 'ratio',
    value: (point, all) => quotient(first.value(point, all), second.value(point, all)),
  };
}

/** Median share of busy slots while jobs are submitted. */
export function busy(of: string, statistic: 'p50' | 'mean' | 'max' = 'p50'): Series {
  return {
    name: `${statistic === 'p50' ? 'median' : statistic} busy, ${of}`,
    unit: 'share',
    value: (point) => point.measured[of]?.busy[statistic] ?? undefined,
  };
}

const PAIRED_NAMES: Readonly<Record<keyof Paired, string>> = {
  improved: 'improved',
  improvedByHalf: 'improved by half',
  betterOrEqual: 'better or equal',
};

/** Share of jobs that fared so under one variant, against the same jobs under another. */
export function shareOfJobs(of: string, over: string, jobs: JobClass, how: keyof Paired): Series {
  return {
    name: `${jobs} jobs ${PAIRED_NAMES[how]}`,
    unit: 'share',
    value: (point) => point.paired[pairName(of, over)]?.[jobs]?.[how],
  };
}

/** Share of a variant's jobs of a class that took longer, to the nearest per cent. */
export function shareLonger(of: string, jobs: JobClass, seconds: number): Series {
  return {
    name: `${jobs} jobs above ${seconds.toLocaleString('en-US')} s, ${of}`,
    unit: 'share',
    value: (point) => {
      const percentiles = point.measured[of]?.percentiles[jobs] ?? [];
      if (percentiles.length === 0) return undefined;
      const below = percentiles.findLastIndex((value) => value <= seconds);
      return 1 - Math.max(0, below) / 100;
    },
  };
}

/** Of predicted figures: the error of a variant's predictions at the percentile that the place of the axis is. */
export function error(of: string): Series {
  return { name: of, unit: 'share', value: (point) => point.errors?.[of]?.[point.tick.x] };
}

/** The error of one variant over that of another, at the same percentile. */
export function errorRatio(of: string, to: string): Series {
  return over(error(of), error(to));
}

/** A run time itself. */
export function seconds(of: string, jobs: JobClass, statistic: Statistic): Series {
  return {
    name: `${jobs} ${statistic}, ${of}`,
    unit: 'seconds',
    value: (point) => runtime(point, of, jobs, statistic),
  };
}

function runtime(point: Point, variant: string, jobs: JobClass, statistic: Statistic): number | undefined {
  return point.measured[variant]?.runtimeSeconds[jobs][statistic] ?? undefined;
}

function quotient(value: number | undefined, by: number | undefined): number | undefined {
  return value === undefined || by === undefined || by === 0 ? undefined : value / by;
}

import type { RunSettings } from './settings.js';

/** A place on the horizontal axis, and what sets its runs apart from those at the other places. */
export interface Tick {
  readonly x: number;
  readonly label: string;
  readonly settings: RunSettings;
}

export interface Axis {
  readonly name: string;
  /** How the places lie on the chart: by their `x`, by its logarithm, or evenly. */
  readonly spacing: 'linear' | 'log' | 'even';
  readonly ticks: readonly Tick[];
  /** Whether the axis is the size of the cluster, which `--workers` then chooses. */
  readonly isClusterSize: boolean;
}

/** The size of the cluster. */
export function workersAxis(sizes: readonly number[]): Axis {
  return {
    name: 'workers',
    spacing: 'linear',
    isClusterSize: true,
    ticks: sizes.map((workers) => ({
      x: workers,
      label: workers.toLocaleString('en-US'),
      settings: { workers },
    })),
  };
}

/** Some other setting, at a fixed size of the cluster. */
export function settingAxis<V extends number | string>(
  name: string,
  spacing: Axis['spacing'],
  values: readonly V[],
  tick: (value: V) => Tick,
): Axis {
  return { name, spacing, isClusterSize: false, ticks: values.map(tick) };
}

const WINDOWS = 20;

/** Times of one run, at equal distances. */
export function timeAxis(until: number): Axis {
  const times = Array.from({ length: WINDOWS }, (_, at) => ((at + 1) * until) / WINDOWS);
  const label = (slots: number) => `${Number((slots / 1e6).toPrecision(3))}M`;
  return settingAxis('slots', 'linear', times, (x) => ({ x, label: label(x), settings: {} }));
}

/** Of predicted figures: percentiles of the errors. */
export const ERROR_PERCENTILES: Axis = {
  name: 'percentile',
  spacing: 'even',
  isClusterSize: false,
  ticks: [50, 90].map((percent) => ({ x: percent, label: `P${percent}`, settings: {} })),
};

/** Where nothing varies but the variants. */
export const ONE_PLACE: Axis = {
  name: '',
  spacing: 'even',
  isClusterSize: false,
  ticks: [{ x: 0, label: '', settings: {} }],
};

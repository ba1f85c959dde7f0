import type { RunSettings } from './settings.js';

/** A point on the horizontal axis, with the settings of its runs. */
export interface Tick {
  readonly x: number;
  readonly label: string;
  readonly settings: RunSettings;
}

export interface Axis {
  readonly name: string;
  /** Spacing of the points on the chart: by `x`, by its logarithm, or even. */
  readonly spacing: 'linear' | 'log' | 'even';
  readonly ticks: readonly Tick[];
  /** Whether the axis is the size of the cluster, which `--workers` then chooses. */
  readonly isClusterSize: boolean;
}

/** Creates an axis of cluster sizes. */
export function workersAxis(sizes: readonly number[]): Axis {
  const axis = settingAxis('workers', 'linear', sizes, (workers) => ({ workers }), withThousands);
  return { ...axis, isClusterSize: true };
}

/** Creates an axis of values of another setting, at a fixed size of the cluster. */
export function settingAxis<V extends number | string>(
  name: string,
  spacing: Axis['spacing'],
  values: readonly V[],
  settings: (value: V) => RunSettings,
  label: (value: V) => string = String,
): Axis {
  const ticks = values.map((value) => ({
    x: Number(value),
    label: label(value),
    settings: settings(value),
  }));
  return { name, spacing, isClusterSize: false, ticks };
}

/** Creates an axis of unordered points with labels; `x` counts from 0. */
export function labelledAxis(name: string, places: Readonly<Record<string, RunSettings>>): Axis {
  const ticks = Object.entries(places).map(([label, settings], x) => ({ x, label, settings }));
  return { name, spacing: 'even', isClusterSize: false, ticks };
}

export function withThousands(value: number): string {
  return value.toLocaleString('en-US');
}

export function inPercent(value: number): string {
  return `${value}%`;
}

const WINDOWS = 20;

/** Creates an axis of equidistant times of one run. */
export function timeAxis(until: number): Axis {
  const times = Array.from({ length: WINDOWS }, (_, at) => ((at + 1) * until) / WINDOWS);
  const label = (slots: number) => `${Number((slots / 1e6).toPrecision(3))}M`;
  return settingAxis('slots', 'linear', times, () => ({}), label);
}

/** Axis of predicted figures: percentiles of the errors. */
export const ERROR_PERCENTILES = settingAxis(
  'percentile',
  'even',
  [50, 90],
  () => ({}),
  (percent) => `P${percent}`,
);

/** Axis of figures in which only the variants differ. */
export const SINGLE_POINT = labelledAxis('', { '': {} });

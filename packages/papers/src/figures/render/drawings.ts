import {
  type AxisSpec,
  type ChartDrawing,
  type LineLook,
  type LineSpec,
  lineChart,
  lineLook,
  ratioChart,
} from '@goshawk/report';
import { format } from '../format.js';
import type { FigureResult, MeasuredPanel, MeasuredSeries } from '../result.js';
import { DEFAULT_POLICY } from '../series.js';

/** The chart of a panel; undefined for tables, and without data. */
export function drawingOf(result: FigureResult, panel: MeasuredPanel): ChartDrawing | undefined {
  switch (panel.kind) {
    case 'table':
      return undefined;
    case 'distribution':
      return distributionDrawing(panel);
    case 'course':
      return courseDrawing(panel);
    case 'bars':
      return ratioChart({
        groups: result.axis.places.map(({ label }) => label),
        bars: looksOf(panel.series).map(([{ name, values }, look]) => ({ name, ratios: values, look })),
        y: { name: panel.axisName },
      });
    case 'lines':
      return lineDrawing(result, panel);
  }
}

/** Describes a panel in words and numbers, for users who cannot see it. */
export function describe(result: FigureResult, panel: MeasuredPanel): string {
  const series = panel.series.map(({ name, unit, values }) => {
    const numbers = values.map((value, at) => {
      const { label } = result.axis.places[at]!;
      return `${format(value ?? undefined, unit)}${label === '' ? '' : ` at ${label}`}`;
    });
    return `${name}: ${numbers.join(', ')}`;
  });
  const unit = unitOf(panel);
  const curves = Object.entries(panel.percentiles ?? {}).map(
    ([name, percentiles]) =>
      `${name}: half within ${format(percentiles[50], unit)}, 90% within ${format(percentiles[90], unit)}`,
  );
  const courses = Object.entries(panel.courses ?? {}).map(
    ([name, percents]) => `${name}: ${stepsOf(percents).length} changes over ${percents.length} jobs`,
  );
  return `${panel.title}. ${[...series, ...curves, ...courses].join('; ')}.`;
}

/** Points at which a value differs from the previous one. */
function stepsOf(values: readonly number[]): number[] {
  return values.flatMap((value, at) => (at > 0 && value !== values[at - 1] ? [at] : []));
}

/** Draws a step chart, in which each value lasts until the next one. */
function courseDrawing({ courses = {} }: MeasuredPanel): ChartDrawing | undefined {
  const drawn = Object.entries(courses).filter(([, percents]) => percents.length > 0);
  if (drawn.length === 0) return undefined;
  return lineChart({
    x: { name: 'sampled job', tight: true },
    y: { name: 'pilots, % of its tasks', reach: [0, 5] },
    lines: drawn.map(([name, percents]) => ({
      name,
      points: [
        [1, percents[0]!] as const,
        ...stepsOf(percents).flatMap((at) => [
          [at + 1, percents[at - 1]!] as const,
          [at + 1, percents[at]!] as const,
        ]),
        [percents.length, percents.at(-1)!] as const,
      ],
    })),
  });
}

function lineDrawing(result: FigureResult, panel: MeasuredPanel): ChartDrawing {
  const xs = placesAlong(result);
  const isRatio = panel.series[0]?.unit === 'ratio';
  return lineChart({
    x: xAxisOf(result, xs),
    y: yAxisOf(panel),
    lines: looksOf(panel.series).flatMap(([series, look]) => linesOf(series, look, xs)),
    references: isRatio ? [1] : [],
  });
}

/**
 * Chooses the looks of lines. Lines of the paper get those of policies; additions have the color of text, to
 * stand out.
 */
function looksOf<T extends { readonly isAddition?: boolean }>(series: readonly T[]): [T, LineLook][] {
  const counts = { paper: 0, added: 0 };
  return series.map((each) =>
    each.isAddition === true
      ? [each, { ...lineLook(counts.added++), color: 'text' }]
      : [each, lineLook(counts.paper++)],
  );
}

function yAxisOf({ axisName, series }: MeasuredPanel): AxisSpec {
  switch (series[0]?.unit) {
    case 'ratio':
      return { name: axisName, kind: 'ratio' };
    case 'tasks':
      return { name: axisName, format: (value) => format(value, 'tasks') };
    default:
      return shareAxis(axisName);
  }
}

/** Returns our line, and the paper's numbers as points of the same color. */
function linesOf({ name, values, paper }: MeasuredSeries, look: LineLook, xs: readonly number[]): LineSpec[] {
  const ours: LineSpec = { name, look, points: values.map((value, at) => [xs[at]!, value]) };
  if (paper === undefined) return [ours];
  const stated = paper.flatMap((value, at) => (value === null ? [] : [[xs[at]!, value] as const]));
  return [ours, { name: `${name}, paper`, look, points: stated, drawn: 'points' }];
}

function placesAlong({ axis: { spacing, places } }: FigureResult): number[] {
  return places.map(({ x }, at) => (spacing === 'even' ? at : x));
}

function xAxisOf({ axis: { name, spacing, places } }: FigureResult, xs: readonly number[]): AxisSpec {
  const labels = shortLabels(places.map(({ label }) => label));
  return {
    name,
    kind: spacing === 'log' ? 'log' : 'linear',
    ticks: xs,
    // The logarithm is rounded, so the nearest point is searched.
    format: (value) => labels[nearestIndex(xs, value)] ?? '',
  };
}

/** Shortens labels when many large numbers would overlap. */
function shortLabels(labels: readonly string[]): readonly string[] {
  const areThousands = labels.every((label) => label.endsWith(',000'));
  return areThousands ? labels.map((label) => `${label.slice(0, -',000'.length)}k`) : labels;
}

function nearestIndex(xs: readonly number[], value: number): number {
  return xs.reduce((best, x, at) => (Math.abs(x - value) < Math.abs(xs[best]! - value) ? at : best), 0);
}

function shareAxis(name: string): AxisSpec {
  return { name, reach: [0, 1], format: (share) => `${Math.round(100 * share)}%` };
}

/** Smallest error drawn, because a logarithmic axis has no 0. */
const LEAST_ERROR = 0.001;

/** Unit of a distribution. */
export function unitOf({ percentilesOf }: MeasuredPanel): 'share' | 'seconds' {
  return percentilesOf === 'errors' ? 'share' : 'seconds';
}

function distributionDrawing(panel: MeasuredPanel): ChartDrawing | undefined {
  const { percentiles = {}, percentilesOf } = panel;
  const unit = unitOf(panel);
  const least = percentilesOf === 'errors' ? LEAST_ERROR : 0;
  const curves = Object.entries(percentiles).filter(([, values]) => values.length > 0);
  if (curves.length === 0) return undefined;
  return lineChart({
    x: {
      name: percentilesOf === 'errors' ? 'error of the prediction' : 'run time',
      kind: 'log',
      format: (value) => format(value, unit),
    },
    y: shareAxis('jobs'),
    lines: looksOf(
      curves.map(([name, values]) => ({ name, values, isAddition: name === DEFAULT_POLICY })),
    ).map(([{ name, values }, look]) => ({
      name,
      look,
      points: values.map((value, percent) => [Math.max(least, value), percent / 100]),
    })),
  });
}

import {
  type AxisSpec,
  barChart,
  type ChartDrawing,
  type LineLook,
  type LineSpec,
  lineChart,
  lineLook,
} from '@goshawk/report';
import { format } from '../format.js';
import { type FigureResult, type MeasuredPanel, type MeasuredSeries, spreadOf } from '../result.js';
import { DEFAULT_POLICY } from '../series.js';

/** The chart of a panel; undefined for tables, and without data. */
export function drawingOf(result: FigureResult, panel: MeasuredPanel): ChartDrawing | undefined {
  switch (panel.kind) {
    case 'table':
      return undefined;
    case 'distribution':
      return distributionDrawing(result, panel);
    case 'course':
      return courseDrawing(panel);
    case 'bars':
      return barDrawing(result, panel);
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
  const looks = looksOf(result, panel.series);
  return lineChart({
    x: xAxisOf(result, xs),
    y: yAxisOf(panel),
    lines: panel.series.flatMap((series, index) => linesOf(series, looks[index]!, xs)),
    references: panel.series[0]?.unit === 'ratio' ? [1] : [],
  });
}

function barDrawing(result: FigureResult, panel: MeasuredPanel): ChartDrawing {
  const looks = barLooksOf(result, panel.series);
  const unit = panel.series[0]?.unit ?? 'ratio';
  return barChart({
    groups: result.axis.places.map(({ label }) => label),
    groupName: result.axis.name,
    bars: panel.series.map((series, index) => ({
      name: series.name,
      values: series.values,
      look: looks[index]!,
      stated: series.paper ?? [],
      spread: spreadOf(series) ?? [],
    })),
    y: yAxisOf(panel),
    format: (value) => format(value, unit).replace(/ [sh]$/, ''),
  });
}

/** Number of different looks. */
const LOOKS = 12;

/**
 * Chooses the looks of series. The subject of a series, which is the policy that begins its name or that it is compared with, has
 * one color in all panels of a figure. The default policy has the color of text, because no paper has it.
 */
export function looksOf(
  { panels }: FigureResult,
  series: readonly { readonly name: string; readonly isAddition?: boolean }[],
): LineLook[] {
  const all = panels.flatMap(({ series: ofPanel, percentiles = {} }) => [
    ...ofPanel,
    ...Object.keys(percentiles).map((name) => ({ name, isAddition: name === DEFAULT_POLICY })),
  ]);
  const subjectsOf = (areAdditions: boolean) =>
    all.filter(({ isAddition = false }) => isAddition === areAdditions).map(({ name }) => subjectOf(name));
  const ofPaper = new Set(subjectsOf(false));
  const subjects = [...new Set([...ofPaper, ...subjectsOf(true).filter((name) => name !== DEFAULT_POLICY)])];
  const used = new Map<string, number>();
  const theirs = series.filter(({ isAddition }) => isAddition !== true).length;
  const taken = new Set<string>();
  // In gray, lines differ by dash and marker alone.
  const take = (from: number): LineLook => {
    const tried = Array.from({ length: LOOKS }, (_, index) => lineLook(from + index));
    const look = tried.find(({ dash, marker }) => !taken.has(`${dash} ${marker}`)) ?? tried[0]!;
    taken.add(`${look.dash} ${look.marker}`);
    return look;
  };
  return series.map(({ name, isAddition }) => {
    const subject = subjectOf(name);
    const index = Math.max(0, subjects.indexOf(subject));
    if (isAddition === true && (subject === DEFAULT_POLICY || ofPaper.has(subject)))
      return { ...take(index + theirs), color: 'text' };
    const before = used.get(subject) ?? 0;
    used.set(subject, before + 1);
    // Several series of one subject share its color, and differ in dash and marker.
    return { ...take(index + before), color: lineLook(index).color };
  });
}

/** Like `looksOf`. Bars have no dash or marker, so further series of one subject get colors that no other has. */
export function barLooksOf(...of: Parameters<typeof looksOf>): LineLook[] {
  const looks = looksOf(...of);
  const taken = new Set(looks.map(({ color }) => color));
  const seen = new Set<LineLook['color']>();
  return looks.map((look) => {
    if (!seen.has(look.color)) {
      seen.add(look.color);
      return look;
    }
    const own = looks.map((_, index) => lineLook(index)).find(({ color }) => !taken.has(color)) ?? look;
    taken.add(own.color);
    return own;
  });
}

function subjectOf(name: string): string {
  return /, over (.+)$/.exec(name)?.[1] ?? name.split(', ')[0]!;
}

/** Queues that differ by more than this factor need a logarithmic axis, on which 0 has no place. */
const WIDE = 100;

function yAxisOf({ axisName, series }: MeasuredPanel): AxisSpec {
  switch (series[0]?.unit) {
    case 'ratio':
      return { name: axisName, kind: 'ratio' };
    case 'share':
      return shareAxis(
        axisName,
        Math.max(0, ...series.flatMap(({ values }) => values.map((value) => value ?? 0))),
      );
    default: {
      const positive = series.flatMap(({ values }) => values.filter((value) => value !== null && value > 0));
      const isWide =
        series[0]?.unit === 'tasks' &&
        Math.max(...(positive as number[])) > WIDE * Math.min(...(positive as number[]));
      return {
        name: axisName,
        format: (value) => format(value, 'tasks'),
        ...(isWide ? { kind: 'log' } : {}),
      };
    }
  }
}

/** Returns our line, and the paper's numbers as points of the same color. */
function linesOf(series: MeasuredSeries, look: LineLook, xs: readonly number[]): LineSpec[] {
  const { name, values, paper } = series;
  const ours: LineSpec = {
    name,
    look,
    points: values.map((value, at) => [xs[at]!, value]),
    spread: spreadOf(series) ?? [],
  };
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

/** Shares below this reach their own maximum instead of 100%, so that small ones stay distinct. */
const SMALL_SHARE = 0.5;

function shareAxis(name: string, greatest = 1): AxisSpec {
  return {
    name,
    reach: greatest < SMALL_SHARE ? [0] : [0, 1],
    format: (share) => `${Number((100 * share).toPrecision(3))}%`,
  };
}

/** Smallest error drawn, because a logarithmic axis has no 0. */
const LEAST_ERROR = 0.001;

/** Unit of a distribution. */
export function unitOf({ percentilesOf }: MeasuredPanel): 'share' | 'seconds' {
  return percentilesOf === 'errors' ? 'share' : 'seconds';
}

function distributionDrawing(result: FigureResult, panel: MeasuredPanel): ChartDrawing | undefined {
  const { percentiles = {}, percentilesOf } = panel;
  const unit = unitOf(panel);
  const least = percentilesOf === 'errors' ? LEAST_ERROR : 0;
  const curves = Object.entries(percentiles).filter(([, values]) => values.length > 0);
  if (curves.length === 0) return undefined;
  const looks = looksOf(
    result,
    // A figure from a file has no additions.
    curves.map(([name]) => ({ name, isAddition: name === DEFAULT_POLICY && result.paper.section !== '' })),
  );
  return lineChart({
    x: {
      name: percentilesOf === 'errors' ? 'error of the prediction' : 'run time',
      kind: 'log',
      format: (value) => format(value, unit),
    },
    y: shareAxis('jobs'),
    lines: curves.map(([name, values], index) => ({
      name,
      look: looks[index]!,
      points: values.map((value, percent) => [Math.max(least, value), percent / 100]),
    })),
  });
}

import type { Workload } from '@goshawk/report';
import type { Axis, Tick } from './axis.js';
import { type Claim, type Figure, type Panel, type Series, VERDICTS, type Verdict } from './figure.js';
import { busyWhileSubmitting, type FinishedRun, pointOf } from './measure.js';
import type { Point } from './point.js';
import {
  FIGURE_SCHEMA,
  type FigureResult,
  type JudgedClaim,
  type MeasuredPanel,
  type MeasuredSeries,
  type Place,
  type PlacedRun,
} from './result.js';

/** The runs at one place of the axis; each variant with the same seeds, in the same order. */
export interface RunsAt {
  readonly tick: Tick;
  readonly byVariant: Readonly<Record<string, readonly FinishedRun[]>>;
}

/** What was run for a figure. */
export interface Swept {
  readonly figure: Figure;
  /** The figure's own, or what `--workers` made of it. */
  readonly axis: Axis;
  readonly workload: Workload;
  /** By place, in the order of the axis. */
  readonly runs: readonly RunsAt[];
  /** The command line that makes the figure again. */
  readonly command: string;
  /** Name and version of the program. */
  readonly generator: string;
}

/** From the runs of a figure to its numbers and verdicts. */
export function assess({ runs, ...asked }: Swept): FigureResult {
  return resultOf({
    ...asked,
    points: runs.map(({ tick, byVariant }) => pointOf(tick, byVariant, asked.figure.pairs)),
    bySeed: pointsBySeed(asked.figure, runs),
    seeds: seedsOf(runs),
    workers: workersOf(runs),
    runs: runs.flatMap(placedRuns),
  });
}

/** What was measured for a figure, however it was. */
export interface Assessed extends Omit<Swept, 'runs'> {
  readonly points: readonly Point[];
  /** The places once for each seed, as if it had been the only one; none where it was. */
  readonly bySeed: readonly (readonly Point[])[];
  readonly seeds: readonly number[];
  readonly workers: number | null;
  readonly runs: readonly PlacedRun[];
}

export function resultOf(assessed: Assessed): FigureResult {
  const { figure, axis, workload, points, bySeed, seeds, workers, runs, command, generator } = assessed;
  const claims = figure.claims.map((claim) => judged(claim, points));
  return {
    schema: FIGURE_SCHEMA,
    id: figure.id,
    title: figure.title,
    about: figure.about,
    paper: { ...figure.paper, section: figure.section },
    mode: figure.mode,
    workload,
    seeds,
    workers,
    axis: { name: axis.name, spacing: axis.spacing, places: points.map(placeOf) },
    panels: figure.panels.map((panel) => measuredPanel(panel, points, bySeed)),
    claims,
    verdicts: countVerdicts(claims),
    runs,
    command,
    generator,
  };
}

/** The places once for each seed, as if it had been the only one. */
function pointsBySeed({ pairs }: Figure, runs: readonly RunsAt[]): Point[][] {
  const seeds = seedsOf(runs);
  if (seeds.length < 2) return [];
  return seeds.map((_, index) =>
    runs.map(({ tick, byVariant }) => {
      const one = Object.entries(byVariant).map(([name, finished]) => [name, [finished[index]!]] as const);
      return pointOf(tick, Object.fromEntries(one), pairs);
    }),
  );
}

function seedsOf(runs: readonly RunsAt[]): number[] {
  const finished = runs.flatMap(({ byVariant }) => Object.values(byVariant).flat());
  return [...new Set(finished.map(({ run }) => run.seed))];
}

function workersOf(runs: readonly RunsAt[]): number | null {
  const finished = runs.flatMap(({ byVariant }) => Object.values(byVariant).flat());
  const sizes = new Set(finished.map(({ run }) => run.options.workers));
  const [size] = sizes;
  return sizes.size === 1 && typeof size === 'number' ? size : null;
}

function judged({ section, text, judge }: Claim, points: readonly Point[]): JudgedClaim {
  return { section, text, ...judge(points) };
}

function countVerdicts(claims: readonly JudgedClaim[]): Record<Verdict, number> {
  const counts = VERDICTS.map((verdict) => [
    verdict,
    claims.filter((claim) => claim.verdict === verdict).length,
  ]);
  return Object.fromEntries(counts) as Record<Verdict, number>;
}

function placeOf({ tick, paired }: Point): Place {
  const place = { x: tick.x, label: tick.label };
  return Object.keys(paired).length === 0 ? place : { ...place, paired };
}

function placedRuns({ tick, byVariant }: RunsAt): PlacedRun[] {
  return Object.entries(byVariant).flatMap(([variant, finished]) =>
    finished.map((each): PlacedRun => {
      const { series: _, ...run } = each.run;
      return { x: tick.x, variant, busyWhileSubmitting: busyWhileSubmitting(each), run };
    }),
  );
}

function measuredPanel(
  panel: Panel,
  points: readonly Point[],
  bySeed: readonly (readonly Point[])[],
): MeasuredPanel {
  if (panel.kind === 'distribution') {
    const { kind, title, of, variants } = panel;
    const percentilesOf = (name: string) =>
      of === 'errors' ? points[0]?.errors?.[name] : points[0]?.measured[name]?.percentiles[of];
    const percentiles = variants.map((name) => [name, percentilesOf(name) ?? []]);
    return {
      kind,
      title,
      axisName: '',
      series: [],
      percentiles: Object.fromEntries(percentiles),
      ...(of === 'errors' ? { percentilesOf: of } : {}),
    };
  }
  if (panel.kind === 'course') {
    const { kind, title, at, variants } = panel;
    const there = points.find(({ tick }) => tick.x === at)?.ratioCourses;
    const courses = Object.fromEntries(variants.map((name) => [name, there?.[name] ?? []]));
    return { kind, title, axisName: '', series: [], courses };
  }
  return {
    kind: panel.kind,
    title: panel.title,
    axisName: panel.kind === 'table' ? '' : panel.axisName,
    series: panel.series.map((series) => measuredSeries(series, points, bySeed)),
  };
}

function measuredSeries(
  { name, unit, value, paper }: Series,
  points: readonly Point[],
  bySeed: readonly (readonly Point[])[],
): MeasuredSeries {
  const stated = points.map(({ tick }) => paper?.find(([x]) => x === tick.x)?.[1] ?? null);
  return {
    name,
    unit,
    values: points.map((point) => value(point, points) ?? null),
    ...(stated.some((each) => each !== null) ? { paper: stated } : {}),
    ...(bySeed.length === 0 ? {} : { spread: points.map((_, at) => spreadAt(at, value, bySeed)) }),
  };
}

function spreadAt(
  at: number,
  value: Series['value'],
  bySeed: readonly (readonly Point[])[],
): readonly [least: number, greatest: number] | null {
  const each = bySeed.flatMap((points) => value(points[at]!, points) ?? []);
  return each.length === 0 ? null : [Math.min(...each), Math.max(...each)];
}

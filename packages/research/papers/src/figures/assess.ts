import { meanOf, Random, sumOf } from '@goshawk/core';
import type { Workload } from '@goshawk/report';
import type { Axis, Tick } from './axis.js';
import { type Claim, type Figure, type Panel, type Series, VERDICTS, type Verdict } from './figure.js';
import { SAME } from './judging/index.js';
import { type FinishedRun, pointOf } from './measure.js';
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

/** The runs at one point of the axis. All variants have the same seeds, in the same order. */
export interface RunsAt<Run = FinishedRun> {
  readonly tick: Tick;
  readonly byVariant: Readonly<Record<string, readonly Run[]>>;
}

/** A figure before it runs. */
export interface FigureRequest {
  readonly figure: Figure;
  /** The axis of the figure, or the one given by `--workers`. */
  readonly axis: Axis;
  readonly workload: Workload;
  /** The command line that reproduces the figure. */
  readonly command: string;
  /** Name and version of the program. */
  readonly generator: string;
}

/** The runs of a figure on clusters. */
export interface FigureSweep extends FigureRequest {
  /** Runs at each point of the axis, in order. */
  readonly places: readonly RunsAt[];
}

/** Turns the runs of a figure into numbers and verdicts. */
export function assess({ places, ...asked }: FigureSweep): FigureResult {
  const finished = places.flatMap(({ byVariant }) => Object.values(byVariant).flat());
  return assessSeeds(places, ({ tick, byVariant }) => pointOf(tick, byVariant, asked.figure.pairs), {
    ...asked,
    seeds: [...new Set(finished.map(({ run }) => run.seed))],
    workers: workersOf(finished),
    runs: places.flatMap(placedRuns),
    trials: [],
  });
}

/** @param pointOf summarizes the runs at a point, over all seeds or for one */
export function assessSeeds<Run>(
  places: readonly RunsAt<Run>[],
  pointOf: (at: RunsAt<Run>) => Point,
  asked: FigureRequest & Pick<FigureResult, 'seeds' | 'workers' | 'runs' | 'trials'>,
): FigureResult {
  const { figure, axis, workload, seeds, workers, runs, trials, command, generator } = asked;
  const points = places.map(pointOf);
  const drawn = (indices: readonly number[]) => places.map((at) => pointOf(ofSeeds(at, indices)));
  const bySeed = seeds.length < 2 ? [] : seeds.map((_, index) => drawn([index]));
  let made: Point[][] | undefined;
  const resamples = () => (made ??= seeds.length < 2 ? [] : resampledSeeds(seeds.length).map(drawn));
  const isSmall = hasFewJobs(asked);
  const jobs = Math.min(workload.jobs, figure.workload.draw?.jobs ?? Number.POSITIVE_INFINITY);
  const claims = figure.claims.map((claim) => judged(claim, points, bySeed, resamples, isSmall, jobs));
  const { paperJobs = null } = figure.workload;
  return {
    schema: FIGURE_SCHEMA,
    id: figure.id,
    title: figure.title,
    about: figure.about,
    paper: { ...figure.paper, section: figure.section, jobs: paperJobs },
    mode: figure.mode,
    workload,
    seeds,
    workers,
    axis: { name: axis.name, spacing: axis.spacing, places: points.map(placeOf) },
    panels: figure.panels.map((panel) => measuredPanel(panel, points, bySeed)),
    claims,
    verdicts: countVerdicts(claims),
    runs,
    trials,
    command,
    generator,
  };
}

/** Number of resamples: the share of those that agree is known within about five points. */
const RESAMPLES = 100;
/** Share of the resamples that must agree with a verdict. */
const CONFIDENCE = 0.95;

/**
 * Draws seeds with replacement for a paired bootstrap: all variants of a resample have the same seeds. Equal draws count
 * once for each time.
 */
function resampledSeeds(seeds: number): number[][] {
  const random = Random.seeded(seeds);
  return Array.from({ length: RESAMPLES }, () =>
    Array.from({ length: seeds }, () => Math.floor(random.next() * seeds)),
  );
}

/** Restricts the runs to these seeds. */
function ofSeeds<Run>({ tick, byVariant }: RunsAt<Run>, indices: readonly number[]): RunsAt<Run> {
  const drawn = Object.entries(byVariant).map(
    ([name, runs]) => [name, indices.map((index) => runs[index]!)] as const,
  );
  return { tick, byVariant: Object.fromEntries(drawn) };
}

function workersOf(finished: readonly FinishedRun[]): number | null {
  const sizes = new Set(finished.map(({ run }) => run.options.workers));
  const [size] = sizes;
  return sizes.size === 1 && typeof size === 'number' ? size : null;
}

/** Fraction of a figure's default number of jobs below which its percentiles are unreliable. */
const FEW_JOBS = 0.5;

/** Whether so few jobs were requested (`--jobs 300`) that a verdict says nothing about the policy. */
function hasFewJobs({
  figure: { workload: of },
  workload,
  runs,
}: FigureRequest & Pick<FigureResult, 'runs'>): boolean {
  // Verdicts about another workload do not depend on the number of jobs of this one.
  if (of.isReplaceable && !workload.name.startsWith(`${of.generator}:`)) return false;
  const jobs = runs.length === 0 ? workload.jobs : Math.max(...runs.map(({ run }) => run.jobs.submitted));
  return jobs < FEW_JOBS * (of.draw?.jobs ?? of.jobs);
}

function judged(
  { section, text, judge }: Claim,
  points: readonly Point[],
  bySeed: readonly (readonly Point[])[],
  resamples: () => readonly (readonly Point[])[],
  isSmall: boolean,
  jobs: number,
): JudgedClaim {
  const { verdict, ours, ratios } = judge(points);
  const judgement = { section, text, kind: judge.kind, ours };
  if (verdict === 'not judged') return { ...judgement, verdict };
  if (isSmall) return { ...judgement, verdict: 'not confirmed', ours: `${ours}; too few jobs` };
  if (ratios !== undefined && !isShown(ratios, judge, bySeed, jobs)) {
    const why = bySeed.length === 0 ? '; one seed' : '; within the spread of seeds';
    return {
      ...judgement,
      verdict: 'not confirmed',
      ours: ours.endsWith(': a tie') ? ours : `${ours}${why}`,
    };
  }
  return {
    ...judgement,
    verdict: confirmed(
      verdict,
      resamples().map((each) => judge(each).verdict),
    ),
  };
}

/**
 * Whether an effect differs from none by more than other seeds would change it: a two-sided t-test of its mean over the
 * seeds, on a log scale. With one seed, some ratio must differ by more than `SAME`, or more if the jobs are few: by the
 * fifth part of its size for 625 jobs.
 */
function isShown(
  ratios: readonly number[],
  judge: Claim['judge'],
  bySeed: readonly (readonly Point[])[],
  jobs: number,
): boolean {
  const least = Math.max(SAME, 5 / Math.sqrt(jobs));
  if (bySeed.length === 0) return ratios.some((ratio) => Math.abs(logOf(ratio)) > least);
  const effects = bySeed.map((points) => meanOf(judge(points).ratios ?? [], logOf));
  const mean = meanOf(effects);
  const deviation = Math.sqrt(sumOf(effects, (each) => (each - mean) ** 2) / (effects.length - 1));
  const bound = STUDENT[effects.length - 2] ?? STUDENT.at(-1)!;
  return mean !== 0 && Math.abs(mean) >= (bound * deviation) / Math.sqrt(effects.length);
}

/** The 97.5th percentile of Student's distribution with 1, 2, … degrees of freedom. */
const STUDENT = [12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179];

/** Logarithm of a ratio; 0 ÷ 0 is no effect, and some against none is a large one. */
function logOf(ratio: number): number {
  return Number.isNaN(ratio) ? 0 : Math.log(Math.min(1e6, Math.max(1e-6, ratio)));
}

/** Returns the strongest verdict that all seeds support and with which nearly all resamples agree. */
function confirmed(verdict: Verdict, resampled: readonly Verdict[]): Verdict {
  const agrees = (...verdicts: readonly Verdict[]) =>
    resampled.filter((each) => verdicts.includes(each)).length >= CONFIDENCE * resampled.length;
  if (verdict === 'holds' && agrees('holds')) return 'holds';
  if ((verdict === 'holds' || verdict === 'in direction') && agrees('holds', 'in direction')) {
    return 'in direction';
  }
  return verdict === 'does not hold' && agrees('does not hold') ? 'does not hold' : 'not confirmed';
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
    finished.map(({ run: { series: _, ...run } }): PlacedRun => {
      return { x: tick.x, variant, busyWhileSubmitting: run.utilisation.whileSubmitting, run };
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
    const percentilesOf = (name: string) => {
      if (of === 'errors') return points[0]?.errors?.[name];
      if (of === 'staged') return points[0]?.staged?.[name]?.percentiles;
      return points[0]?.measured[name]?.percentiles[of];
    };
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
    // The paper's policies come first.
    series: [...panel.series]
      .sort((one, other) => Number(one.isAddition === true) - Number(other.isAddition === true))
      .map((series) => measuredSeries(series, points, bySeed))
      // A series without values belongs to a variant that was left out.
      .filter(({ values }) => values.some((value) => value !== null)),
  };
}

function measuredSeries(
  { name, unit, value, paper, isAddition }: Series,
  points: readonly Point[],
  bySeed: readonly (readonly Point[])[],
): MeasuredSeries {
  const stated = points.map(({ tick }) => paper?.find(([x]) => x === tick.x)?.[1] ?? null);
  return {
    name,
    unit,
    values: points.map((point) => value(point, points) ?? null),
    ...(stated.some((each) => each !== null) ? { paper: stated } : {}),
    ...(isAddition === true ? { isAddition } : {}),
    ...(bySeed.length === 0
      ? {}
      : { bySeed: bySeed.map((ofSeed) => ofSeed.map((point) => value(point, ofSeed) ?? null)) }),
  };
}

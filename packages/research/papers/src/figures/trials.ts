import { meanFields } from '@goshawk/report';
import { assessSeeds, type FigureRequest, type RunsAt } from './assess.js';
import { meanPlanned } from './deadlines.js';
import { percentilesOf } from './measure.js';
import type { Point, Queue, Staged, StagedRun } from './point.js';
import type { FigureResult, Trial } from './result.js';

/** Aggregates of a variant's runs over the seeds, by field of a point. */
const OVER_SEEDS = {
  planned: meanPlanned,
  staged: meanStaged,
  queues: meanFields<Queue>,
  /** Pools the jobs of all draws. */
  errors: (draws: readonly (readonly number[])[]): number[] =>
    percentilesOf(Float64Array.from(draws.flat()).sort()),
} as const;

function meanStaged(runs: readonly StagedRun[]): Staged {
  const seconds = Float64Array.from(runs.flatMap(({ runtimeSeconds }) => runtimeSeconds));
  const means = meanFields(runs.map(({ runtimeSeconds: _, ...run }) => run));
  return { ...means, percentiles: percentilesOf(seconds.sort()) };
}

type Field = keyof typeof OVER_SEEDS;
type RunOf<F extends Field> = Parameters<(typeof OVER_SEEDS)[F]>[0][number];

/** Runs of a figure that has no cluster, only policies or estimators. */
interface TrialRuns<F extends Field> extends FigureRequest {
  readonly places: readonly RunsAt<RunOf<F>>[];
  readonly workers: number | null;
  readonly trials: readonly Trial[];
}

/** Computes numbers and verdicts from the runs of a trial. Seeds count from 1. */
export function assessTrials<F extends Field>(field: F, { places, ...asked }: TrialRuns<F>): FigureResult {
  const overSeeds = OVER_SEEDS[field] as (runs: readonly RunOf<F>[]) => unknown;
  const pointOf = ({ tick, byVariant }: RunsAt<RunOf<F>>): Point => {
    const variants = Object.entries(byVariant).map(([name, runs]) => [name, overSeeds(runs)] as const);
    return { tick, measured: {}, paired: {}, [field]: Object.fromEntries(variants) };
  };
  const [runs = []] = Object.values(places[0]?.byVariant ?? {});
  const seeds = runs.map((_, index) => index + 1);
  return assessSeeds(places, pointOf, { ...asked, seeds, runs: [] });
}

import { meanOf } from '@goshawk/core';
import { meanFields } from '@goshawk/report';
import { type Asked, assessSeeds, type RunsAt } from './assess.js';
import { meanPlanned } from './deadlines.js';
import { percentilesOf } from './measure.js';
import type { Point, Staged } from './point.js';
import type { FigureResult } from './result.js';

/** What the runs of one variant say over the seeds, by where a point has it. */
const OVER_SEEDS = {
  planned: meanPlanned,
  staged: meanFields<Staged>,
  queues: (tasks: readonly number[]): number => meanOf(tasks),
  /** Jobs of all draws count alike. */
  errors: (draws: readonly (readonly number[])[]): number[] =>
    percentilesOf(Float64Array.from(draws.flat()).sort()),
} as const;

type Field = keyof typeof OVER_SEEDS;
type RunOf<F extends Field> = Parameters<(typeof OVER_SEEDS)[F]>[0][number];

/** What was run for a figure without a cluster: of policies by themselves, or of estimators. */
export interface TrialRuns<F extends Field> extends Asked {
  readonly places: readonly RunsAt<RunOf<F>>[];
  readonly workers: number | null;
}

/** From such runs to a figure's numbers and verdicts; seeds count from 1 on. */
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

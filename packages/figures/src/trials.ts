import { type Assessed, resultOf } from './assess.js';
import type { Tick } from './axis.js';
import type { Point } from './point.js';
import type { FigureResult } from './result.js';

/** What was run for a figure of policies by themselves. */
export interface TrialRuns<Run>
  extends Pick<Assessed, 'figure' | 'axis' | 'workload' | 'command' | 'generator' | 'workers'> {
  /** By place, in the order of the axis; each variant once for each seed, from 1 on. */
  readonly places: readonly {
    readonly tick: Tick;
    readonly byVariant: Readonly<Record<string, readonly Run[]>>;
  }[];
}

/**
 * From runs to a figure's numbers and verdicts: means over the seeds.
 *
 * @param field where a point has them
 */
export function assessTrials<
  Field extends 'planned' | 'staged',
  Run extends NonNullable<Point[Field]>[string],
>({ places, ...asked }: TrialRuns<Run>, field: Field, meanOf: (runs: readonly Run[]) => Run): FigureResult {
  const seeds = Math.max(
    0,
    ...places.flatMap(({ byVariant }) => Object.values(byVariant).map((of) => of.length)),
  );
  const pointsOf = (chosen: (of: readonly Run[]) => readonly Run[]): Point[] =>
    places.map(({ tick, byVariant }) => ({
      tick,
      measured: {},
      paired: {},
      [field]: Object.fromEntries(Object.entries(byVariant).map(([name, of]) => [name, meanOf(chosen(of))])),
    }));
  const all = Array.from({ length: seeds }, (_, index) => index);
  return resultOf({
    ...asked,
    points: pointsOf((of) => of),
    bySeed: seeds < 2 ? [] : all.map((index) => pointsOf((of) => [of[index]!])),
    seeds: all.map((index) => index + 1),
    runs: [],
  });
}

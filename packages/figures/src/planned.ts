import { type Assessed, resultOf } from './assess.js';
import type { Tick } from './axis.js';
import type { Planned, Point } from './point.js';
import type { FigureResult } from './result.js';

/** What was run for a planned figure. */
export interface PlannedRuns
  extends Pick<Assessed, 'figure' | 'axis' | 'workload' | 'command' | 'generator' | 'workers'> {
  /** By place, in the order of the axis; each variant once for each seed, from 1 on. */
  readonly places: readonly {
    readonly tick: Tick;
    readonly byVariant: Readonly<Record<string, readonly Planned[]>>;
  }[];
}

/** From planned runs to a figure's numbers and verdicts: means over the seeds. */
export function assessPlanned({ places, ...asked }: PlannedRuns): FigureResult {
  const seeds = Math.max(
    0,
    ...places.flatMap(({ byVariant }) => Object.values(byVariant).map((of) => of.length)),
  );
  const pointsOf = (chosen: (of: readonly Planned[]) => readonly Planned[]): Point[] =>
    places.map(({ tick, byVariant }) => ({
      tick,
      measured: {},
      paired: {},
      planned: Object.fromEntries(Object.entries(byVariant).map(([name, of]) => [name, meanOf(chosen(of))])),
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

function meanOf(runs: readonly Planned[]): Planned {
  const mean = (of: (run: Planned) => number) => runs.reduce((sum, run) => sum + of(run), 0) / runs.length;
  return {
    missed: mean(({ missed }) => missed),
    goodputHours: {
      deadline: mean(({ goodputHours }) => goodputHours.deadline),
      bestEffort: mean(({ goodputHours }) => goodputHours.bestEffort),
    },
    bestEffortSeconds: mean(({ bestEffortSeconds }) => bestEffortSeconds),
    preemptions: mean(({ preemptions }) => preemptions),
  };
}

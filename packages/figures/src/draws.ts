import { type Assessed, resultOf } from './assess.js';
import type { Point } from './point.js';
import type { FigureResult } from './result.js';

/** What was found in jobs that were drawn anew for each seed, without running them. */
export interface Draws extends Pick<Assessed, 'figure' | 'axis' | 'workload' | 'command' | 'generator'> {
  /** One for each seed, from 1 on: numbers by variant. */
  readonly draws: readonly Readonly<Record<string, readonly number[]>>[];
}

/** @param pointsOf what some of the draws make of the places of the axis */
export function assessDraws(
  { draws, ...asked }: Draws & Pick<Assessed, 'workers'>,
  pointsOf: (some: Draws['draws']) => Point[],
): FigureResult {
  return resultOf({
    ...asked,
    points: pointsOf(draws),
    bySeed: draws.length < 2 ? [] : draws.map((draw) => pointsOf([draw])),
    seeds: draws.map((_, index) => index + 1),
    runs: [],
  });
}

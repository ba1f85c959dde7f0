import { meanOf } from '@goshawk/core';
import { type Assessed, resultOf } from './assess.js';
import type { Point } from './point.js';
import type { FigureResult } from './result.js';

/** What the policies of a modelled figure made of its jobs. */
export interface Modelled extends Pick<Assessed, 'figure' | 'axis' | 'workload' | 'command' | 'generator'> {
  /** One for each seed, from 1 on: tasks that wait at each place of the axis, by variant. */
  readonly draws: readonly Readonly<Record<string, readonly number[]>>[];
}

/** From the queues of policies to a figure's numbers and verdicts: means over the seeds. */
export function assessModelled({ draws, ...asked }: Modelled): FigureResult {
  const pointsOf = (some: Modelled['draws']): Point[] =>
    asked.axis.ticks.map((tick, place) => {
      const queues = asked.figure.variants.map(({ name }) => {
        const each = some.map((draw) => draw[name]![place]!);
        return [name, meanOf(each)] as const;
      });
      return { tick, measured: {}, paired: {}, queues: Object.fromEntries(queues) };
    });
  return resultOf({
    ...asked,
    points: pointsOf(draws),
    bySeed: draws.length < 2 ? [] : draws.map((draw) => pointsOf([draw])),
    seeds: draws.map((_, index) => index + 1),
    workers: asked.figure.model?.servers ?? null,
    runs: [],
  });
}

import { meanOf } from '@goshawk/core';
import { assessDraws, type Draws } from './draws.js';
import type { Point } from './point.js';
import type { FigureResult } from './result.js';

/** What the policies of a modelled figure made of its jobs: tasks that wait at each place of the axis. */
export type Modelled = Draws;

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
  return assessDraws({ ...asked, draws, workers: asked.figure.model?.servers ?? null }, pointsOf);
}

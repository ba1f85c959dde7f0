import { assessDraws, type Draws } from './draws.js';
import { percentilesOf } from './measure.js';
import type { Point } from './point.js';
import type { FigureResult } from './result.js';

/** What estimators said of the jobs of a predicted figure: |estimate − truth| ÷ truth of each. */
export type Predicted = Draws;

/** From the errors of predictions to a figure's numbers and verdicts; jobs of all draws count alike. */
export function assessPredictions({ draws, ...asked }: Predicted): FigureResult {
  const pointsOf = (some: Predicted['draws']): Point[] => {
    const names = asked.figure.variants.map(({ name }) => name);
    const all = names.map((name) => Float64Array.from(some.flatMap((errors) => errors[name] ?? [])).sort());
    const errors = Object.fromEntries(names.map((name, i) => [name, percentilesOf(all[i]!)]));
    return asked.axis.ticks.map((tick) => ({ tick, measured: {}, paired: {}, errors }));
  };
  return assessDraws({ ...asked, draws, workers: null }, pointsOf);
}

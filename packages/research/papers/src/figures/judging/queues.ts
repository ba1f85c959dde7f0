import { slopeOf } from '@goshawk/core';
import type { Judge, Series } from '../figure.js';
import { effect, judgeMeasured, judgement, TIE } from './places.js';

/**
 * Significance level of the sign test: the accepted probability that as many windows rise without a trend.
 */
const SIGN_TEST = 0.05;

/**
 * "The queue grows": the slope over the points, which are times, is near `perSlot`; in direction if the queue
 * rises in more windows than by chance.
 *
 * @param perSlot tasks per unit of the axis
 * @param within maximum difference of the slope
 */
export function growsBy(series: Series, perSlot: number, within: number): Judge {
  return judgeMeasured('value', [series], (places) => {
    const points = places.map(({ point, values }) => [point.tick.x, values[0]!] as const);
    const slope = slopeOf(points);
    const windows = points.slice(1).filter(([, queue], at) => queue !== points[at]![1]);
    const rises = points.slice(1).filter(([, queue], at) => queue > points[at]![1]).length;
    const isGrowing = chanceOf(rises, windows.length) < SIGN_TEST;
    return judgement(
      `${slope.toPrecision(2)} a slot; it rises in ${rises} of ${points.length - 1} windows`,
      isGrowing && Math.abs(slope - perSlot) <= within,
      isGrowing,
    );
  });
}

/** "Is stable": at most this many tasks wait at any time; in direction up to ten times as many. */
export function waitsAtMost(series: Series, tasks: number): Judge {
  return judgeMeasured('value', [series], (places) => {
    const most = Math.max(...places.map(({ values }) => values[0]!));
    return judgement(`${Math.round(most)} tasks wait at most`, most <= tasks, most <= 10 * tasks);
  });
}

/** "Worst of them": the queue is the largest at each point, by a factor; in direction without the factor. */
export function waitsMost(worst: Series, others: readonly Series[], by: number): Judge {
  return judgeMeasured('effect', [worst, ...others], (places) => {
    const factors = places.map(({ values: [most, ...rest] }) => most! / Math.max(1e-9, ...rest));
    const least = Math.min(...factors);
    return effect(
      `${least.toPrecision(2)} times the next largest, or more`,
      factors,
      least >= by && least > 1 + TIE,
      least > 1,
    );
  });
}

/** "Alike": queues that differ by at most this factor; in direction up to its square. */
export function waitAlike(one: Series, other: Series, factor: number): Judge {
  return judgeMeasured('alike', [one, other], (places) => {
    const deviation = Math.max(
      ...places.map(({ values: [a, b] }) => Math.max((a! + 1) / (b! + 1), (b! + 1) / (a! + 1))),
    );
    return judgement(
      `they differ by a factor of ${deviation.toPrecision(2)} at most`,
      deviation <= factor,
      deviation <= factor ** 2,
    );
  });
}

/**
 * "Clearly better": the queue is smaller by a factor at each point; in direction if it is smaller at more
 * than half of the points.
 */
export function waitsLess(better: Series, others: readonly Series[], by: number): Judge {
  return judgeMeasured('effect', [better, ...others], (places) => {
    const factors = places.map(({ values: [least, ...rest] }) => Math.min(...rest) / Math.max(1e-9, least!));
    const smaller = factors.filter((factor) => factor > 1).length;
    return effect(
      `smaller by a factor of ${Math.min(...factors).toPrecision(2)} to ${Math.max(...factors).toPrecision(2)}`,
      factors,
      Math.min(...factors) >= by && Math.min(...factors) > 1 + TIE,
      2 * smaller > factors.length,
    );
  });
}

/** Probability that at least this many of the windows rise, if rises and falls are equally likely. */
function chanceOf(rises: number, windows: number): number {
  let ways = 1;
  let sum = 0;
  for (let k = 0; k <= windows; k++) {
    if (k >= rises) sum += ways;
    ways = (ways * (windows - k)) / (k + 1);
  }
  return sum / 2 ** windows;
}

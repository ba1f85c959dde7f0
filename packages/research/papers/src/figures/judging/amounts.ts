import type { Judge, Series } from '../figure.js';
import { format, improvement } from '../format.js';
import {
  effect,
  FACTOR,
  judgeMeasured,
  judgement,
  listed,
  type Place,
  placeOf,
  SAME,
  SHORTFALL,
} from './places.js';

/** "Up to 80% better": the greatest improvement along the axis is within `SHORTFALL` of the paper's. */
export function bestImprovement(series: Series, paper: number): Judge {
  return judgeMeasured('effect', [series], (places) => {
    const best = lowest(places);
    const gained = 1 - best.values[0]!;
    return effect(
      `${improvement(best.values[0]!)}${placeOf(best)}`,
      best.values,
      Math.abs(gained - paper) <= SHORTFALL,
      gained > SAME,
    );
  });
}

/** "Improves more than by 80%": the greatest improvement along the axis is above this; in direction if there is one. */
export function bestImprovementExceeds(series: Series, least: number): Judge {
  return judgeMeasured('effect', [series], (places) => {
    const best = lowest(places);
    const gained = 1 - best.values[0]!;
    return effect(
      `${improvement(best.values[0]!)}${placeOf(best)}`,
      best.values,
      gained > least,
      gained > SAME,
    );
  });
}

/** "Lower by a factor of 7": the greatest factor along the axis is within `FACTOR` of the paper's. */
export function bestFactor(series: Series, paper: number): Judge {
  return judgeMeasured('effect', [series], (places) => {
    const best = lowest(places);
    const factor = 1 / best.values[0]!;
    return effect(
      `${factor.toPrecision(2)} times${placeOf(best)}`,
      [factor],
      factor >= paper / FACTOR && factor <= paper * FACTOR,
      factor > 1 + SAME,
    );
  });
}

function lowest(places: readonly Place[]): Place {
  return places.reduce((least, place) => (place.values[0]! < least.values[0]! ? place : least));
}

/**
 * "Improves by 1.56 times": a ratio above 1 is within `SHORTFALL` of the paper's; in direction above 1 by more than
 * `SAME`.
 */
export function reaches(series: Series, paper: number): Judge {
  return judgeMeasured('effect', [series], (places) => {
    const ratios = places.map(({ values }) => values[0]!);
    return effect(
      listed(series, places),
      ratios,
      ratios.every((ratio) => Math.abs(ratio - paper) <= SHORTFALL),
      ratios.every((ratio) => ratio > 1 + SAME),
    );
  });
}

/**
 * "Carbyne's makespan is 1.03 times Tetris'": a ratio within a fraction of the paper's; in direction on the same side of
 * 1. A tie confirms nothing.
 */
export function isAbout(series: Series, paper: number, within: number): Judge {
  return judgeMeasured('effect', [series], (places) => {
    const ratios = places.map(({ values }) => values[0]!);
    return effect(
      listed(series, places),
      ratios,
      ratios.every((ratio) => Math.abs(ratio / paper - 1) <= within),
      ratios.every((ratio) => (paper > 1 ? ratio > 1 : ratio < 1)),
    );
  });
}

/** "0.05 units away": a difference within `within` of the paper's; in direction if it has the paper's sign. */
export function differsByAbout(higher: Series, lower: Series, paper: number, within: number): Judge {
  return judgeMeasured('effect', [higher, lower], (places) => {
    const differences = places.map(({ values: [high, low] }) => high! - low!);
    return effect(
      differences.map((difference) => difference.toFixed(3)).join(', '),
      places.map(({ values: [high, low] }) => high! / low!),
      differences.every((difference) => Math.abs(difference - paper) <= within),
      differences.every((difference) => difference > 0),
    );
  });
}

/** "68% of the jobs": a share within `SHORTFALL` of the paper's; in direction from half of the paper's on. */
export function shareReaches(series: Series, paper: number): Judge {
  return byEach(series, (share) => [Math.abs(share - paper) <= SHORTFALL, share >= paper / 2]);
}

/** "A large fraction": a share of at least this; in direction from half of that on. */
export function shareIsAtLeast(series: Series, least: number): Judge {
  return byEach(series, (share) => [share >= least, share >= least / 2]);
}

/** "16% of the jobs slow down": a share within `within` of the paper's; in direction up to twice that. */
export function shareIsWithin(series: Series, paper: number, within: number): Judge {
  return byEach(series, (share) => {
    const off = Math.abs(share - paper);
    return [off <= within, off <= 2 * within];
  });
}

/** "At most 1.15": a value of at most this; in direction up to twice as much. */
export function isAtMost(series: Series, most: number): Judge {
  return byEach(series, (value) => [value <= most, value <= 2 * most]);
}

/** The maximum along the axis is at most this; in direction up to twice as much. */
export function neverExceeds(series: Series, most: number): Judge {
  return judgeMeasured('value', [series], (places) => {
    const worst = Math.max(...places.map(({ values }) => values[0]!));
    return judgement(`${format(worst, series.unit)} at most`, worst <= most, worst <= 2 * most);
  });
}

/** "About 86%": a share within the shortfall of the paper's, on both sides. */
export function shareIsAbout(series: Series, paper: number): Judge {
  return shareIsWithin(series, paper, SHORTFALL);
}

/** "Enough are free": a share that is at most the paper's; in direction up to half of the rest to 1 more. */
export function shareStaysBelow(series: Series, paper: number): Judge {
  return byEach(series, (share) => [share <= paper, share <= paper + (1 - paper) / 2]);
}

/** Judges a claim about one series at each point. */
function byEach(
  series: Series,
  judge: (value: number) => readonly [holds: boolean, inDirection: boolean],
): Judge {
  return judgeMeasured('value', [series], (places) => {
    const judged = places.map(({ values }) => judge(values[0]!));
    return judgement(
      listed(series, places),
      judged.every(([holds]) => holds),
      judged.every(([, inDirection]) => inDirection),
    );
  });
}

import { meanOf, sumOf } from '@goshawk/core';
import type { Judge, Series } from '../figure.js';
import {
  effect,
  FACTOR,
  judgeMeasured,
  judgement,
  listPairs,
  notJudged,
  placeOf,
  ranges,
  SAME,
  SLIGHT,
  TIE,
} from './places.js';

/**
 * "Consistently better": worse at no point, and better at some; in direction if not worse at more than half
 * of the points.
 */
export function isBetter(series: readonly Series[]): Judge {
  return byRatios(series, (ratios) => {
    const notWorse = ratios.filter((ratio) => ratio <= 1 + SAME).length;
    const gains = ratios.some((ratio) => ratio < 1 - SAME);
    return [gains && notWorse === ratios.length, gains && notWorse * 2 > ratios.length];
  });
}

/** "Significantly worse": ratios above 1 by more than `by`; in direction if above 1 at all. */
export function isWorse(series: readonly Series[], by: number): Judge {
  return byRatios(series, (_, least) => [least > 1 + by, least > 1]);
}

/** "Significantly better": ratios below 1 by more than `by`; in direction if below 1 by more than `SAME`. */
export function isMuchBetter(series: readonly Series[], by: number): Judge {
  return byRatios(series, (_, __, most) => [most < 1 - by, most < 1 - SAME]);
}

/**
 * "Slightly worse": ratios between about 1 and `SLIGHT` above it, and above 1 on average; in direction if
 * some are further above.
 */
export function isSlightlyWorse(series: readonly Series[]): Judge {
  return byRatios(series, (ratios, least, most) => {
    const isAbove = least >= 1 - SAME && meanLog(ratios) >= 0;
    return [isAbove && most <= 1 + SLIGHT, isAbove];
  });
}

/** "Slightly better": like `isSlightlyWorse`, for ratios below 1. */
export function isSlightlyBetter(series: readonly Series[]): Judge {
  return byRatios(series, (ratios, least, most) => {
    const isBelowOne = most <= 1 + SAME && meanLog(ratios) <= 0;
    return [isBelowOne && least >= 1 - SLIGHT, isBelowOne];
  });
}

/** "Converge", "no worse": ratios within `least` … `most`; in direction within twice the distance from 1. */
export function staysWithin(
  series: readonly Series[],
  within: { readonly least: number; readonly most: number },
): Judge {
  return byRatios(
    series,
    (_, least, most) => [
      least >= within.least && most <= within.most,
      least >= 1 - 2 * (1 - within.least) && most <= 1 + 2 * (within.most - 1),
    ],
    'alike',
  );
}

/** Judges an effect, or a likeness, of several series by all of their ratios together. */
function byRatios(
  series: readonly Series[],
  judge: (
    ratios: readonly number[],
    least: number,
    most: number,
  ) => readonly [holds: boolean, inDirection: boolean],
  kind: 'effect' | 'alike' = 'effect',
): Judge {
  return judgeMeasured(kind, series, (places) => {
    const ratios = places.flatMap(({ values }) => values);
    const verdict = judge(ratios, Math.min(...ratios), Math.max(...ratios));
    const ours = ranges(series, places);
    return kind === 'effect' ? effect(ours, ratios, ...verdict) : judgement(ours, ...verdict);
  });
}

/**
 * "More at p90 than at p50": the first series is below the second at each point by more than `TIE`; in direction at
 * most points.
 */
export function isBelow(lower: Series, upper: Series): Judge {
  return judgeMeasured('effect', [lower, upper], (places) => {
    const ratios = places.map(({ values: [low, high] }) => low! / high!);
    const below = ratios.filter((ratio) => ratio < 1 - TIE).length;
    return effect(
      listPairs([lower, upper], places),
      ratios,
      below === places.length,
      below * 2 > places.length,
    );
  });
}

/**
 * "Agree and show similar trends": two measurements of one ratio differ by at most a fraction; in direction if at
 * each point both are on the same side of 1, or about 1.
 */
export function agree(pairs: readonly (readonly [Series, Series])[], by: number): Judge {
  return judgeMeasured('alike', pairs.flat(), (places) => {
    const measured = places.flatMap(({ values }) =>
      pairs.map((_, i) => [values[2 * i]!, values[2 * i + 1]!] as const),
    );
    const deviations = measured.map(([one, other]) => Math.abs(Math.log(one / other)));
    const sides = measured.every(
      ([one, other]) =>
        [one, other].every((ratio) => ratio < 1 + SAME) || [one, other].every((ratio) => ratio > 1 - SAME),
    );
    const most = Math.max(...deviations);
    return judgement(
      `they differ by a factor of ${Math.exp(most).toPrecision(3)} at most`,
      most <= Math.log(1 + by),
      sides,
    );
  });
}

/** "4.0 times": the first sum over the points over the second is within `FACTOR` of it; in direction if it is larger. */
export function isTimes(first: Series, second: Series, times: number): Judge {
  return judgeMeasured('effect', [first, second], (places) => {
    const [above, below] = [0, 1].map((at) => sumOf(places, ({ values }) => values[at]!));
    if (above === 0 && below === 0) return notJudged('neither has any');
    const ratio = above! / below!;
    const isAbout = ratio >= times / FACTOR && ratio <= times * FACTOR;
    return effect(inTimes(ratio), [ratio], isAbout, ratio > 1);
  });
}

/**
 * The first series is at least this many times the second at every point with values; in direction if it is
 * larger at each.
 */
export function isEveryTimes(first: Series, second: Series, times: number): Judge {
  return judgeMeasured('effect', [first, second], (places) => {
    const some = places.filter(({ values }) => values.some((value) => value > 0));
    if (some.length === 0) return notJudged('neither has any');
    const ratios = some.map(({ values: [above, below] }) => above! / below!);
    const shown = some.map((place, i) => `${inTimes(ratios[i]!)}${placeOf(place)}`);
    return effect(
      shown.join(', '),
      ratios,
      ratios.every((ratio) => ratio >= times),
      ratios.every((ratio) => ratio > 1),
    );
  });
}

function inTimes(ratio: number): string {
  return Number.isFinite(ratio) ? `${ratio.toFixed(1)} times` : 'some against none';
}

/** The first series is at most `by` above the second at all points; in direction up to twice that. */
export function isNear(upper: Series, lower: Series, by: number): Judge {
  return judgeMeasured('alike', [upper, lower], (places) => {
    const most = Math.max(...places.map(({ values: [above, below] }) => above! - below!));
    return judgement(listPairs([upper, lower], places), most <= by, most <= 2 * by);
  });
}

function meanLog(ratios: readonly number[]): number {
  return meanOf(ratios, (ratio) => Math.log(ratio));
}

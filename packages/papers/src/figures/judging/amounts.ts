import type { Judge, Series } from '../figure.js';
import { format, improvement } from '../format.js';
import { judgeMeasured, judgement, listed, type Place, placeOf, SAME, SHORTFALL } from './places.js';

/** "Up to 80% better": judges the greatest improvement along the axis. */
export function bestImprovement(series: Series, paper: number): Judge {
  return judgeMeasured([series], (places) => {
    const best = lowest(places);
    const gained = 1 - best.values[0]!;
    return judgement(
      `${improvement(best.values[0]!)}${placeOf(best)}`,
      gained >= paper - SHORTFALL,
      gained > SAME,
    );
  });
}

/** "Lower by a factor of 7": judges the greatest factor along the axis against half of the paper's. */
export function bestFactor(series: Series, paper: number): Judge {
  return judgeMeasured([series], (places) => {
    const best = lowest(places);
    const factor = 1 / best.values[0]!;
    return judgement(
      `${factor.toPrecision(2)} times${placeOf(best)}`,
      factor >= paper / 2,
      factor > 1 + SAME,
    );
  });
}

function lowest(places: readonly Place[]): Place {
  return places.reduce((least, place) => (place.values[0]! < least.values[0]! ? place : least));
}

/**
 * "Improves by 1.56 times": compares a ratio above 1 with the paper's minus the shortfall; in direction above
 * 1 by more than `SAME`.
 */
export function reaches(series: Series, paper: number): Judge {
  return byEach(series, (ratio) => [ratio >= paper - SHORTFALL, ratio > 1 + SAME]);
}

/**
 * "68% of the jobs": compares a share with the paper's minus the shortfall; in direction from half of the
 * paper's on.
 */
export function shareReaches(series: Series, paper: number): Judge {
  return byEach(series, (share) => [share >= paper - SHORTFALL, share >= paper / 2]);
}

/** "A large fraction": a share of at least this; in direction from half of that on. */
export function shareIsAtLeast(series: Series, least: number): Judge {
  return byEach(series, (share) => [share >= least, share >= least / 2]);
}

/**
 * "100 s for the majority": a value of at most this, with tolerance `SAME`; in direction up to twice as much.
 */
export function isAtMost(series: Series, most: number): Judge {
  return byEach(series, (value) => [value <= most * (1 + SAME), value <= 2 * most]);
}

/** The maximum along the axis is at most this; in direction up to twice as much. */
export function neverExceeds(series: Series, most: number): Judge {
  return judgeMeasured([series], (places) => {
    const worst = Math.max(...places.map(({ values }) => values[0]!));
    return judgement(`${format(worst, series.unit)} at most`, worst <= most, worst <= 2 * most);
  });
}

/** "About 86%": a share within the shortfall of the paper's, on both sides. */
export function shareIsAbout(series: Series, paper: number): Judge {
  return byEach(series, (share) => {
    const off = Math.abs(share - paper);
    return [off <= SHORTFALL, off <= 2 * SHORTFALL];
  });
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
  return judgeMeasured([series], (places) => {
    const judged = places.map(({ values }) => judge(values[0]!));
    return judgement(
      listed(series, places),
      judged.every(([holds]) => holds),
      judged.every(([, inDirection]) => inDirection),
    );
  });
}

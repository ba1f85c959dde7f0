import type { Judge, Series } from '../figure.js';
import { format, improvement } from '../format.js';
import { judging, listed, type Place, placeOf, SAME, SHORTFALL, said } from './places.js';

/** "Up to 80% better": the greatest improvement along the axis. */
export function bestImprovement(series: Series, paper: number): Judge {
  return judging([series], (places) => {
    const best = lowest(places);
    const gained = 1 - best.values[0]!;
    return said(
      `${improvement(best.values[0]!)}${placeOf(best)}`,
      gained >= paper - SHORTFALL,
      gained > SAME,
    );
  });
}

/** "Lower by a factor of 7": the greatest such factor along the axis, held to half of the paper's. */
export function bestFactor(series: Series, paper: number): Judge {
  return judging([series], (places) => {
    const best = lowest(places);
    const factor = 1 / best.values[0]!;
    return said(`${factor.toPrecision(2)} times${placeOf(best)}`, factor >= paper / 2, factor > 1 + SAME);
  });
}

function lowest(places: readonly Place[]): Place {
  return places.reduce((least, place) => (place.values[0]! < least.values[0]! ? place : least));
}

/** "Improves by 1.56 times": a ratio above 1, held to the paper's less the shortfall; in direction above 1 by more than `SAME`. */
export function reaches(series: Series, paper: number): Judge {
  return byEach(series, (ratio) => [ratio >= paper - SHORTFALL, ratio > 1 + SAME]);
}

/**
 * "68% of the jobs": a share, held to the paper's less the shortfall; in direction where it is more than half
 * of the paper's.
 */
export function shareReaches(series: Series, paper: number): Judge {
  return byEach(series, (share) => [share >= paper - SHORTFALL, share >= paper / 2]);
}

/** "A large fraction": a share of at least so much; in direction from half of that on. */
export function shareIsAtLeast(series: Series, least: number): Judge {
  return byEach(series, (share) => [share >= least, share >= least / 2]);
}

/** "100 s for the majority": a run time of no more than so much, but for `SAME`; in direction up to twice it. */
export function isAtMost(series: Series, most: number): Judge {
  return byEach(series, (value) => [value <= most * (1 + SAME), value <= 2 * most]);
}

/** No more than so much, at any place; in direction where it is no more than twice that. */
export function neverExceeds(series: Series, most: number): Judge {
  return judging([series], (places) => {
    const worst = Math.max(...places.map(({ values }) => values[0]!));
    return said(`${format(worst, series.unit)} at most`, worst <= most, worst <= 2 * most);
  });
}

/** "About 86%": a share, held to the paper's on both sides. */
export function shareIsAbout(series: Series, paper: number): Judge {
  return byEach(series, (share) => {
    const off = Math.abs(share - paper);
    return [off <= SHORTFALL, off <= 2 * SHORTFALL];
  });
}

/** "Enough are free": a share that stays at or below the paper's. */
export function shareStaysBelow(series: Series, paper: number): Judge {
  return byEach(series, (share) => [share <= paper, share <= paper + (1 - paper) / 2]);
}

/** A claim about one series applies at each place. */
function byEach(
  series: Series,
  judge: (value: number) => readonly [holds: boolean, inDirection: boolean],
): Judge {
  return judging([series], (places) => {
    const judged = places.map(({ values }) => judge(values[0]!));
    return said(
      listed(series, places),
      judged.every(([holds]) => holds),
      judged.every(([, inDirection]) => inDirection),
    );
  });
}

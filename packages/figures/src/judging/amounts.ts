import type { Judge, Series } from '../figure.js';
import { improvement } from '../format.js';
import { everywhere, judging, listed, placeOf, SAME, SHORTFALL, said, type Where } from './places.js';

/** "Up to 80% better": the greatest improvement along the axis. */
export function bestImprovement(series: Series, paper: number, where: Where = everywhere): Judge {
  return judging([series], where, (places) => {
    const best = places.reduce((least, place) => (place.values[0]! < least.values[0]! ? place : least));
    const gained = 1 - best.values[0]!;
    return said(
      `${improvement(best.values[0]!)}${placeOf(best)}`,
      gained >= paper - SHORTFALL,
      gained > SAME,
    );
  });
}

/** "Lower by a factor of 7": the greatest such factor along the axis, held to half of the paper's. */
export function bestFactor(series: Series, paper: number, where: Where = everywhere): Judge {
  return judging([series], where, (places) => {
    const best = places.reduce((least, place) => (place.values[0]! < least.values[0]! ? place : least));
    const factor = 1 / best.values[0]!;
    return said(`${factor.toPrecision(2)} times${placeOf(best)}`, factor >= paper / 2, factor > 1 + SAME);
  });
}

/** "Improves by 1.56 times": a ratio above 1, held to the paper's less the shortfall; in direction above 1 by more than `SAME`. */
export function reaches(series: Series, paper: number, where: Where = everywhere): Judge {
  return judging([series], where, (places) => {
    const least = Math.min(...places.map(({ values }) => values[0]!));
    return said(listed(series, places), least >= paper - SHORTFALL, least > 1 + SAME);
  });
}

/**
 * "68% of the jobs": a share, held to the paper's less the shortfall; in direction where it is more than half
 * of the paper's.
 */
export function shareReaches(series: Series, paper: number, where: Where): Judge {
  return judging([series], where, (places) => {
    const least = Math.min(...places.map(({ values }) => values[0]!));
    return said(listed(series, places), least >= paper - SHORTFALL, least >= paper / 2);
  });
}

/** "A large fraction": a share of at least so much; in direction from half of that on. */
export function shareIsAtLeast(series: Series, least: number, where: Where = everywhere): Judge {
  return judging([series], where, (places) => {
    const share = Math.min(...places.map(({ values }) => values[0]!));
    return said(listed(series, places), share >= least, share >= least / 2);
  });
}

/** "100 s for the majority": a run time of no more than so much, but for `SAME`; in direction up to twice it. */
export function isAtMost(series: Series, most: number, where: Where = everywhere): Judge {
  return judging([series], where, (places) => {
    const value = Math.max(...places.map(({ values }) => values[0]!));
    return said(listed(series, places), value <= most * (1 + SAME), value <= 2 * most);
  });
}

/** "About 86%": a share, held to the paper's on both sides. */
export function shareIsAbout(series: Series, paper: number, where: Where = everywhere): Judge {
  return judging([series], where, (places) => {
    const off = Math.max(...places.map(({ values }) => Math.abs(values[0]! - paper)));
    return said(listed(series, places), off <= SHORTFALL, off <= 2 * SHORTFALL);
  });
}

/** "Enough are free": a share that stays at or below the paper's. */
export function shareStaysBelow(series: Series, paper: number, where: Where = everywhere): Judge {
  return judging([series], where, (places) => {
    const most = Math.max(...places.map(({ values }) => values[0]!));
    return said(listed(series, places), most <= paper, most <= paper + (1 - paper) / 2);
  });
}

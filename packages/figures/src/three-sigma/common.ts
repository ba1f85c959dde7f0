import { sumOf } from '@goshawk/core';
import type { Figure, Judge, Paper, Series } from '../figure.js';
import { format } from '../format.js';
import { isBelow } from '../judging/index.js';
import { bothListed, everywhere, judging, notJudged, placeOf, said, type Where } from '../judging/places.js';
import type { Planned } from '../point.js';
import { seriesOf } from '../series.js';

export const THREE_SIGMA: Paper = {
  name: '3Sigma',
  reference:
    'J. W. Park, A. Tumanov, A. Jiang, M. A. Kozuch, G. R. Ganger: 3Sigma: Distribution-based Cluster Scheduling for Runtime Uncertainty, EuroSys 2018',
};

/** The paper's E2E of two hours, 600 jobs; its cluster of 256 nodes in 8 racks. */
export const TWO_HOURS: Pick<Figure, 'mode' | 'workload' | 'settings' | 'paper'> = {
  mode: 'planned',
  paper: THREE_SIGMA,
  workload: { generator: 'e2e', jobs: 600, paperJobs: 600, isReplaceable: false },
  settings: { workers: 256 },
};

/** Its E2E of five hours, of which two fifths are run unless `--jobs` says otherwise. */
export const FIVE_HOURS: typeof TWO_HOURS = {
  ...TWO_HOURS,
  workload: { ...TWO_HOURS.workload, paperJobs: 1_500 },
};

export const SIGMA = '3sigma-sched';
/** Who is compared (§5). */
export const FIELD = [SIGMA, 'point-perf', 'point-real', 'prio'] as const;

export const GANGS =
  'Gangs over the books of central, without messages; a policy that knows nothing learns from 10,000 jobs before.';

function series(
  name: string,
  unit: Series['unit'],
  of: string,
  value: (planned: Planned) => number | undefined,
) {
  return seriesOf(name, unit, 'planned', of, value);
}

export const misses = (of: string) => series(of, 'share', of, ({ missed }) => missed);

export const goodput = (of: string) =>
  series(`${of}, all`, 'hours', of, ({ goodputHours }) => goodputHours.deadline + goodputHours.bestEffort);

export const bestEffortGoodput = (of: string) =>
  series(`${of}, best effort`, 'hours', of, ({ goodputHours }) => goodputHours.bestEffort);

export const bestEffortSeconds = (of: string) =>
  series(of, 'seconds', of, ({ bestEffortSeconds: seconds }) => seconds);

/** Wall time. */
export const cycles = (of: string, part: 'p99' | 'max') =>
  series(`${of}, ${part}`, 'seconds', of, ({ cycleSeconds }) => cycleSeconds?.[part]);

export const predictions = (of: string, part: 'p50' | 'p99') =>
  series(`${of}, ${part}`, 'seconds', of, ({ predictionSeconds }) => predictionSeconds?.[part]);

/** So many times as much at least, on the whole; in direction where it is more. */
export function isTimes(first: Series, second: Series, times: number, where: Where = everywhere): Judge {
  return judging([first, second], where, (places) => {
    const [above, below] = [0, 1].map((at) => sumOf(places, ({ values }) => values[at]!));
    if (above === 0 && below === 0) return notJudged('neither has any');
    const ratio = above! / below!;
    return said(inTimes(ratio), ratio >= times, ratio > 1);
  });
}

/** So many times as much at every place where there is any; in direction where it is more at each. */
export function isEveryTimes(first: Series, second: Series, times: number): Judge {
  return judging([first, second], everywhere, (places) => {
    const some = places.filter(({ values }) => values.some((value) => value > 0));
    if (some.length === 0) return notJudged('neither has any');
    const ratios = some.map(({ values: [above, below] }) => above! / below!);
    const shown = some.map((place, i) => `${inTimes(ratios[i]!)}${placeOf(place)}`);
    return said(
      shown.join(', '),
      ratios.every((ratio) => ratio >= times),
      ratios.every((ratio) => ratio > 1),
    );
  });
}

function inTimes(ratio: number): string {
  return Number.isFinite(ratio) ? `${ratio.toFixed(1)} times` : 'some against none';
}

/** No more than so much above it, at any place; in direction where it is no more than twice that. */
export function isNear(upper: Series, lower: Series, by: number, where: Where = everywhere): Judge {
  return judging([upper, lower], where, (places) => {
    const most = Math.max(...places.map(({ values: [above, below] }) => above! - below!));
    return said(bothListed([upper, lower], places), most <= by, most <= 2 * by);
  });
}

/** No more than so much, at any place; in direction where it is no more than twice that. */
export function isAtMost(series: Series, most: number, where: Where = everywhere): Judge {
  return judging([series], where, (places) => {
    const worst = Math.max(...places.map(({ values }) => values[0]!));
    return said(`${format(worst, series.unit)} at most`, worst <= most, worst <= 2 * most);
  });
}

/** Fewer misses than that one. @param where in words: "under each" */
export const missesFewer = (name: string, of: string, where: string): Record<string, Judge> => ({
  [`3Sigma misses fewer than ${name} ${where}`]: isBelow(misses(SIGMA), misses(of)),
});

/** @param where in words */
export const isCloseToPerfect = (where: string, places: Where = everywhere): Record<string, Judge> => ({
  [`3Sigma is close to PointPerfEst ${where} (accepted: 5% of the jobs)`]: isNear(
    misses(SIGMA),
    misses('point-perf'),
    0.05,
    places,
  ),
});

/** Fewer misses than those that know less, hardly more than the one that knows all. */
export const comparedByMisses = (where: string): Record<string, Judge> => ({
  ...missesFewer('PointRealEst', 'point-real', where),
  ...missesFewer('Prio', 'prio', where),
  ...isCloseToPerfect(where),
});

export function panels(policies: readonly string[], axisName: string): Figure['panels'] {
  const drawn = (title: string, what: string, of: (policy: string) => Series) => ({
    kind: axisName === '' ? ('bars' as const) : ('lines' as const),
    title,
    axisName: what,
    series: policies.map(of),
  });
  return [
    drawn('Jobs with a deadline that missed it', 'share of them', misses),
    drawn('Goodput', 'node hours', goodput),
    drawn('Goodput of best-effort jobs', 'node hours', bestEffortGoodput),
    drawn('Best-effort jobs, mean time to completion', 'seconds', bestEffortSeconds),
  ];
}

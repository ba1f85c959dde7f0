import type { ClaimKind, Judge, Judgement, Series, Verdict } from '../figure.js';
import { format } from '../format.js';
import type { Point } from '../point.js';

/** Tolerance for shares and improvements, in points: 0.05 is five percentage points. */
export const SHORTFALL = 0.05;

/** Ratios this close to 1 count as equal, because other seeds cause differences of this size. */
export const SAME = 0.05;

/** Ratios this close to 1 count as "slightly", "similar", or "competitive". */
export const SLIGHT = 0.2;

/** Factors within this of the paper's are the same: 7 is 5.8 to 8.4. */
export const FACTOR = 1.2;

/** Ratios this close to 1 are a tie, which confirms no effect. */
export const TIE = 0.01;

/** Selects the points of the axis that a claim concerns; default: all. */
export type Where = (x: number) => boolean;

export const at =
  (...places: readonly number[]): Where =>
  (x) =>
    places.includes(x);
export const between =
  (least: number, greatest: number): Where =>
  (x) =>
    x >= least && x <= greatest;
export const from =
  (least: number): Where =>
  (x) =>
    x >= least;
/** Restricts a judge to these points. */
export const only = (where: Where, judge: Judge): Judge =>
  judgeOf(judge.kind, (points) => judge(points, where));

/** Values at one point, in the order of the series. */
export interface Place {
  readonly point: Point;
  readonly values: readonly number[];
}

export function judgeOf(
  kind: ClaimKind,
  judge: (points: readonly Point[], where?: Where) => Judgement,
): Judge {
  return Object.assign(judge, { kind });
}

/** Looks up the values for a judge, which is called only with measurements. */
export function judgeMeasured(
  kind: ClaimKind,
  series: readonly Series[],
  judge: (places: readonly Place[]) => Judgement,
): Judge {
  return judgeOf(kind, (points, where = () => true) => {
    const named = points.filter(({ tick }) => where(tick.x));
    if (named.length === 0) return notJudged('not covered by this run');
    const places = named.flatMap((point): Place[] => {
      const values = series.map(({ value }) => value(point, points));
      return values.every((value) => value !== undefined) ? [{ point, values: values as number[] }] : [];
    });
    return places.length === 0 ? notJudged('no jobs to judge by') : judge(places);
  });
}

/** Judges an effect by ratios: a tie at all of them confirms nothing. */
export function effect(
  ours: string,
  ratios: readonly number[],
  holds: boolean,
  inDirection: boolean,
): Judgement {
  if (ratios.every(isTie)) return { verdict: 'not confirmed', ours: `${ours}: a tie` };
  return { ...judgement(ours, holds, inDirection), ratios };
}

/** Whether a ratio is so close to 1, or to 0 ÷ 0, that it is no difference. */
function isTie(ratio: number): boolean {
  return Number.isNaN(ratio) || Math.abs(ratio - 1) <= TIE;
}

export function judgement(ours: string, holds: boolean, inDirection: boolean): Judgement {
  const verdict: Verdict = holds ? 'holds' : inDirection ? 'in direction' : 'does not hold';
  return { verdict, ours };
}

export function notJudged(why: string): Judgement {
  return { verdict: 'not judged', ours: why };
}

export function placeOf({ point }: Place): string {
  return point.tick.label === '' ? '' : ` at ${point.tick.label}`;
}

export function listed(series: Series, places: readonly Place[]): string {
  return places.map((place) => `${format(place.values[0], series.unit)}${placeOf(place)}`).join(', ');
}

/** Formats two series side by side, after their names. */
export function listPairs([one, other]: readonly [Series, Series], places: readonly Place[]): string {
  const both = places.map((place) => {
    const [first, second] = place.values;
    return `${format(first, one.unit)} and ${format(second, other.unit)}${placeOf(place)}`;
  });
  return `${one.name} against ${other.name}: ${both.join(', ')}`;
}

/** Formats the minimum and maximum of each series. */
export function ranges(series: readonly Series[], places: readonly Place[]): string {
  return series
    .map(({ name, unit }, i) => {
      const values = places.map(({ values }) => values[i]!);
      const [least, most] = [format(Math.min(...values), unit), format(Math.max(...values), unit)];
      return `${name} ${least === most ? least : `${least}–${most}`}`;
    })
    .join(', ');
}

/** Formats the first and the last value of each series. */
export function trend(series: readonly Series[], places: readonly Place[]): string {
  const ends = [places[0]!, places.at(-1)!] as const;
  const values = series.map(
    ({ name, unit }, i) => `${name} ${format(ends[0].values[i], unit)} to ${format(ends[1].values[i], unit)}`,
  );
  return `${values.join(', ')} from ${ends[0].point.tick.label} to ${ends[1].point.tick.label}`;
}

import type { Judge, Judgement, Series } from '../figure.js';
import { format } from '../format.js';
import type { Point } from '../point.js';
import {
  effect,
  judgeMeasured,
  judgement,
  judgeOf,
  notJudged,
  type Place,
  SAME,
  SLIGHT,
  trend,
  type Where,
} from './places.js';

/**
 * "Most under high load": the minimum of the named points is at most the minimum of the others; in direction if it is
 * at most the maximum of the others.
 */
export function isLowestAt(series: Series, where: Where): Judge {
  return judgeMeasured('effect', [series], (places) => {
    const named = places.filter(({ point }) => where(point.tick.x)).map(({ values }) => values[0]!);
    const others = places.filter(({ point }) => !where(point.tick.x)).map(({ values }) => values[0]!);
    if (named.length === 0 || others.length === 0) return notJudged('it compares places of the axis');
    const least = Math.min(...named);
    const next = Math.min(...others);
    const elsewhere = `${format(next, series.unit)} at least elsewhere`;
    return effect(
      `${series.name} ${format(least, series.unit)} there, ${elsewhere}`,
      [least / next],
      least < next,
      least < Math.max(...others),
    );
  });
}

/** "Contributes the most": the series is greatest at the named point. */
export function isHighestAt(series: Series, where: Where): Judge {
  const upsideDown: Series = { ...series, value: (point, all) => negated(series.value(point, all)) };
  const judge = isLowestAt(upsideDown, where);
  return judgeOf('effect', (points) => {
    const judgement = judge(points);
    return judgement.verdict === 'not judged' ? judgement : { ...judgement, ours: valuesOf(series, points) };
  });
}

/**
 * "Benefits shrink as the cluster grows": the last ratio is nearer to 1 than the first, and within `SLIGHT`
 * of 1; in direction if it is only nearer.
 */
export function tendsToOne(series: readonly Series[]): Judge {
  return judgeTrend(series, (places) => {
    const first = places[0]!.values;
    const last = places.at(-1)!.values;
    const distance = (ratio: number) => Math.abs(Math.log(ratio));
    const ends = [...first, ...last];
    const nearer = last.every(
      (ratio, i) => distance(ratio) <= distance(first[i]!) || Math.abs(ratio - 1) <= SAME,
    );
    const there = last.every((ratio) => Math.abs(ratio - 1) <= SLIGHT);
    return effect(trend(series, places), ends, nearer && there, nearer);
  });
}

/**
 * "Improves with it": the last value of each series is below the first by more than `SAME`; in direction if
 * that is true of one, or each is lower.
 */
export function falls(series: readonly Series[]): Judge {
  return changes(series, (first, last) => 1 - last / first);
}

/** "Does an increasingly better job": like `falls`, with the last value above the first. */
export function rises(series: readonly Series[]): Judge {
  return changes(series, (first, last) => last / first - 1);
}

function changes(series: readonly Series[], change: (first: number, last: number) => number): Judge {
  return judgeTrend(series, (places) => {
    const first = places[0]!.values;
    const changed = places.at(-1)!.values.map((last, i) => change(first[i]!, last));
    return effect(
      trend(series, places),
      changed.map((each) => 1 + each),
      changed.every((each) => each > SAME),
      changed.some((each) => each > SAME) || changed.every((each) => each > 0),
    );
  });
}

/**
 * "Only minute variations": the maximum is at most `by` above the minimum along the axis; in direction up to
 * three times that.
 */
export function isNearlyConstant(series: readonly Series[], by: number): Judge {
  return judgeTrend(
    series,
    (places) => {
      const varied = series.map((_, i) => {
        const values = places.map(({ values }) => values[i]!);
        return Math.max(...values) / Math.min(...values) - 1;
      });
      const most = Math.max(...varied);
      return judgement(
        series.map(({ name }, i) => `${name} varies by ${format(varied[i], 'share')}`).join(', '),
        most <= by,
        most <= 3 * by,
      );
    },
    'alike',
  );
}

/** Judges a claim about the change between two points. */
function judgeTrend(
  series: readonly Series[],
  judge: (places: readonly Place[]) => Judgement,
  kind: 'effect' | 'alike' = 'effect',
): Judge {
  return judgeMeasured(kind, series, (places) =>
    places.length < 2 ? notJudged('it takes two places of the axis') : judge(places),
  );
}

function negated(value: number | undefined): number | undefined {
  return value === undefined ? undefined : -value;
}

function valuesOf(series: Series, points: readonly Point[]): string {
  return points
    .map((point) => `${format(series.value(point, points), series.unit)} at ${point.tick.label}`)
    .join(', ');
}

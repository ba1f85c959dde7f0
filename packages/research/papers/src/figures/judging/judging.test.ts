import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Judge, Series, Verdict } from '../figure.js';
import { pointsAlong } from '../runs.fixture.js';
import {
  agree,
  at,
  bestFactor,
  bestImprovement,
  bestImprovementExceeds,
  between,
  falls,
  from,
  growsBy,
  isAtMost,
  isBelow,
  isBetter,
  isHighestAt,
  isLowestAt,
  isMuchBetter,
  isNearlyConstant,
  isSlightlyBetter,
  isSlightlyWorse,
  isTimes,
  isWorse,
  only,
  rises,
  shareIsAbout,
  shareIsAtLeast,
  shareReaches,
  shareStaysBelow,
  staysWithin,
  tendsToOne,
  waitAlike,
  waitsAtMost,
  waitsLess,
  waitsMost,
} from './index.js';

const XS = [10, 20, 30, 40];

/** A series with a made-up value at each of the points 10, 20, 30, 40. */
function made(
  values: readonly (number | undefined)[],
  unit: Series['unit'] = 'ratio',
  name = 'made up',
): Series {
  return { name, unit, value: ({ tick }) => values[XS.indexOf(tick.x)] };
}

const judged = (judge: Judge) => judge(pointsAlong(XS));

const share = (...values: number[]) => made(values, 'share');
const cases: readonly (readonly [what: string, judge: Judge, verdict: Verdict])[] = [
  ['up to 80% better: 80%', bestImprovement(made([0.9, 0.2, 0.5, 1]), 0.8), 'holds'],
  ['up to 80% better: 76%, within five points', bestImprovement(made([0.9, 0.24, 0.5, 1]), 0.8), 'holds'],
  ['up to 80% better: 40%', bestImprovement(made([0.9, 0.6, 0.7, 1]), 0.8), 'in direction'],
  ['up to 80% better: no better', bestImprovement(made([1, 0.97, 1.2, 1]), 0.8), 'does not hold'],
  ['more than 80% better: 90%', bestImprovementExceeds(made([0.9, 0.1, 0.5, 1]), 0.8), 'holds'],
  ['more than 80% better: 79%', bestImprovementExceeds(made([0.9, 0.21, 0.5, 1]), 0.8), 'in direction'],
  ['more than 80% better: no better', bestImprovementExceeds(made([1, 0.97, 1.2, 1]), 0.8), 'does not hold'],
  ['4.0 times: 4.5', isTimes(share(0.1, 0.3, 0.2, 0.3), share(0.05, 0.05, 0.05, 0.05), 4), 'holds'],
  ['4.0 times: 8', isTimes(share(0.2, 0.6, 0.4, 0.4), share(0.05, 0.05, 0.05, 0.05), 4), 'in direction'],
  [
    '4.0 times: less',
    isTimes(share(0.01, 0.02, 0.01, 0.01), share(0.05, 0.05, 0.05, 0.05), 4),
    'does not hold',
  ],
  ['by a factor of 7: 7', bestFactor(made([1, 1 / 7, 1, 1]), 7), 'holds'],
  ['by a factor of 7: 2', bestFactor(made([1, 0.5, 1, 1]), 7), 'in direction'],
  ['by a factor of 7: worse', bestFactor(made([1.1, 1.2, 1.1, 1.1]), 7), 'does not hold'],
  ['by a factor of 7: a tie', bestFactor(made([1, 1.1, 1, 1]), 7), 'not confirmed'],
  ['by a factor of 7: 20', bestFactor(made([1, 0.05, 1, 1]), 7), 'in direction'],
  ['68% of jobs: 64%', only(at(20), shareReaches(share(0, 0.64, 0, 0), 0.68)), 'holds'],
  ['68% of jobs: 40%', only(at(20), shareReaches(share(0, 0.4, 0, 0), 0.68)), 'in direction'],
  ['68% of jobs: 30%', only(at(20), shareReaches(share(0, 0.3, 0, 0), 0.68)), 'does not hold'],
  ['a large fraction: a third', shareIsAtLeast(share(0.33, 0.33, 0.33, 0.33), 0.25), 'holds'],
  ['a large fraction: a seventh', shareIsAtLeast(share(0.14, 0.3, 0.3, 0.3), 0.25), 'in direction'],
  ['a large fraction: a tenth', shareIsAtLeast(share(0.1, 0.3, 0.3, 0.3), 0.25), 'does not hold'],
  ['100 s: 99 s', isAtMost(made([99, 100, 100, 100], 'seconds'), 100), 'holds'],
  ['100 s: 104 s', isAtMost(made([104, 100, 100, 100], 'seconds'), 100), 'in direction'],
  ['100 s: 180 s', isAtMost(made([180, 100, 100, 100], 'seconds'), 100), 'in direction'],
  ['100 s: 300 s', isAtMost(made([300, 100, 100, 100], 'seconds'), 100), 'does not hold'],
  ['86% busy: 82%', shareIsAbout(share(0.82, 0.86, 0.9, 0.85), 0.86), 'holds'],
  ['86% busy: 77%', shareIsAbout(share(0.77, 0.86, 0.86, 0.86), 0.86), 'in direction'],
  ['86% busy: 40%', shareIsAbout(share(0.4, 0.86, 0.86, 0.86), 0.86), 'does not hold'],
  ['at most 98%: 97%', shareStaysBelow(share(0.97, 0.9, 0.9, 0.9), 0.98), 'holds'],
  ['at most 98%: 98.5%', shareStaysBelow(share(0.985, 0.9, 0.9, 0.9), 0.98), 'in direction'],
  ['at most 98%: all', shareStaysBelow(share(1, 0.9, 0.9, 0.9), 0.98), 'does not hold'],
  ['consistently better: at each place', isBetter([made([0.9, 0.5, 0.8, 1])]), 'holds'],
  ['consistently better: worse at one', isBetter([made([1.2, 0.5, 0.8, 1])]), 'in direction'],
  ['consistently better: about the same everywhere', isBetter([made([1, 0.98, 1, 1.02])]), 'does not hold'],
  ['consistently better: a tie', isBetter([made([1, 0.995, 1, 1.005])]), 'not confirmed'],
  ['a significant hit', isWorse([made([1.3, 1.2, 1.2, 1.4])], 0.1), 'holds'],
  ['a significant hit: a small one', isWorse([made([1.02, 1.2, 1.2, 1.4])], 0.1), 'in direction'],
  ['a significant hit: none', isWorse([made([0.99, 1.2, 1.2, 1.4])], 0.1), 'does not hold'],
  ['significantly better', isMuchBetter([made([0.7, 0.5, 0.1, 0.7])], 0.2), 'holds'],
  ['significantly better: somewhat', isMuchBetter([made([0.9, 0.5, 0.1, 0.7])], 0.2), 'in direction'],
  ['significantly better: not', isMuchBetter([made([0.99, 0.5, 0.1, 0.7])], 0.2), 'does not hold'],
  ['slightly worse', isSlightlyWorse([made([1.1, 1, 0.97, 1.19])]), 'holds'],
  ['slightly worse: by half', isSlightlyWorse([made([1.5, 1, 1, 1])]), 'in direction'],
  ['slightly worse: better on the whole', isSlightlyWorse([made([0.97, 0.98, 1, 1])]), 'does not hold'],
  ['slightly better', isSlightlyBetter([made([0.9, 1, 1.03, 0.81])]), 'holds'],
  ['slightly better: by half', isSlightlyBetter([made([0.5, 1, 1, 1])]), 'in direction'],
  ['slightly better: worse somewhere', isSlightlyBetter([made([0.5, 1, 1, 1.1])]), 'does not hold'],
  ['converged', staysWithin([made([1.1, 1, 0.9, 1.19])], { least: 0.8, most: 1.2 }), 'holds'],
  ['converged: nearly', staysWithin([made([1.33, 1, 1, 1])], { least: 0.8, most: 1.2 }), 'in direction'],
  ['converged: not', staysWithin([made([2, 1, 1, 1])], { least: 0.8, most: 1.2 }), 'does not hold'],
  ['more at p90', isBelow(made([0.1, 0.2, 0.3, 0.4]), made([0.2, 0.3, 0.4, 0.5])), 'holds'],
  ['more at p90: mostly', isBelow(made([0.3, 0.2, 0.3, 0.4]), made([0.2, 0.3, 0.4, 0.5])), 'in direction'],
  ['more at p90: rarely', isBelow(made([0.3, 0.4, 0.5, 0.4]), made([0.2, 0.3, 0.4, 0.5])), 'does not hold'],
  ['most under load', isLowestAt(made([0.9, 0.2, 0.3, 1]), between(20, 30)), 'holds'],
  ['most under load: more elsewhere', isLowestAt(made([0.1, 0.2, 0.3, 1]), between(20, 30)), 'in direction'],
  ['most under load: least there', isLowestAt(made([0.1, 0.5, 0.6, 0.2]), between(20, 30)), 'does not hold'],
  ['contributes most', isHighestAt(made([1, 1.2, 3, 2]), at(30)), 'holds'],
  ['contributes most: second', isHighestAt(made([1, 1.2, 3, 4]), at(30)), 'in direction'],
  ['contributes most: least', isHighestAt(made([2, 3, 1.5, 2]), at(30)), 'does not hold'],
  ['converges', tendsToOne([made([0.1, 0.2, 0.6, 0.9])]), 'holds'],
  ['converges: not yet', tendsToOne([made([0.1, 0.2, 0.4, 0.5])]), 'in direction'],
  ['converges: away from it', tendsToOne([made([0.5, 0.4, 0.3, 0.2])]), 'does not hold'],
  ['falls', falls([made([1, 0.9, 0.7, 0.6]), made([1, 1, 1, 0.8])]), 'holds'],
  ['falls: one of two', falls([made([1, 0.9, 0.7, 0.6]), made([1, 1, 1, 1.1])]), 'in direction'],
  ['falls: a hair', falls([made([0.83, 0.8, 0.8, 0.82])]), 'in direction'],
  ['falls: rises', falls([made([1, 1.1, 1.2, 1.3])]), 'does not hold'],
  ['rises', rises([made([0.2, 0.4, 0.5, 0.8])]), 'holds'],
  ['rises: one of two', rises([made([0.2, 0.4, 0.5, 0.8]), made([0.5, 0.4, 0.3, 0.2])]), 'in direction'],
  ['rises: falls', rises([made([0.8, 0.4, 0.3, 0.2])]), 'does not hold'],
  ['barely varies', isNearlyConstant([made([1, 1.02, 0.99, 1])], 0.05), 'holds'],
  ['barely varies: some', isNearlyConstant([made([1, 1.1, 1, 1])], 0.05), 'in direction'],
  ['barely varies: much', isNearlyConstant([made([1, 1.5, 1, 1])], 0.05), 'does not hold'],
  ['stable: 40 tasks', waitsAtMost(made([10, 40, 20, 30], 'tasks'), 50), 'holds'],
  ['stable: 400 tasks', waitsAtMost(made([10, 400, 20, 30], 'tasks'), 50), 'in direction'],
  ['stable: 4,000 tasks', waitsAtMost(made([10, 4000, 20, 30], 'tasks'), 50), 'does not hold'],
  ['worst', only(between(10, 40), waitsMost(made([20, 40, 60, 80]), [made([9, 9, 9, 9])], 2)), 'holds'],
  [
    'worst: by little',
    only(between(10, 40), waitsMost(made([10, 40, 60, 80]), [made([9, 9, 9, 9])], 2)),
    'in direction',
  ],
  [
    'worst: not everywhere',
    only(between(10, 40), waitsMost(made([8, 40, 60, 80]), [made([9, 9, 9, 9])], 2)),
    'does not hold',
  ],
  ['queues alike', only(between(10, 40), waitAlike(made([9, 9, 9, 9]), made([9, 10, 12, 9]), 1.5)), 'holds'],
  [
    'queues alike: nearly',
    only(between(10, 40), waitAlike(made([9, 9, 9, 9]), made([9, 10, 19, 9]), 1.5)),
    'in direction',
  ],
  [
    'queues alike: not',
    only(between(10, 40), waitAlike(made([9, 9, 9, 9]), made([9, 10, 99, 9]), 1.5)),
    'does not hold',
  ],
  [
    'queues smaller',
    only(between(10, 40), waitsLess(made([9, 9, 9, 9]), [made([19, 20, 22, 19])], 1.5)),
    'holds',
  ],
  [
    'queues smaller: mostly',
    only(between(10, 40), waitsLess(made([9, 9, 9, 9]), [made([8, 20, 22, 19])], 1.5)),
    'in direction',
  ],
  [
    'queues smaller: not',
    only(between(10, 40), waitsLess(made([9, 9, 9, 9]), [made([8, 8, 22, 8])], 1.5)),
    'does not hold',
  ],
  ['agree', agree([[made([0.2, 0.3, 0.5, 1]), made([0.22, 0.28, 0.5, 1.1])]], 0.2), 'holds'],
  [
    'agree: in which is faster',
    agree([[made([0.1, 0.3, 0.5, 1]), made([0.3, 0.3, 0.5, 1])]], 0.2),
    'in direction',
  ],
  ['agree: not even so', agree([[made([0.5, 1, 1, 1]), made([1.5, 1, 1, 1])]], 0.2), 'does not hold'],
];

test.each(cases)('%s', (_, judge, verdict) => {
  expect(judged(judge).verdict).toBe(verdict);
});

test('a queue grows if it rises in more windows than by chance', () => {
  const over = (queues: readonly number[]) => {
    const xs = queues.map((_, at) => at);
    const series: Series = { name: 'queue', unit: 'tasks', value: ({ tick }) => queues[tick.x] };
    return growsBy(series, 2, 0.5)(pointsAlong(xs)).verdict;
  };
  expect(over([0, 2, 4, 6, 8, 10])).toBe('holds');
  expect(over([0, 1, 2, 3, 4, 5])).toBe('in direction');
  expect(over([0, 9, 3, 8, 2, 11])).toBe('does not hold');
  expect(over([5, 5, 5, 5, 5, 5])).toBe('does not hold');
});

test('each kind of claim can hold, hold in direction and not hold', () => {
  const byKind = new Map<string, Set<Verdict>>();
  for (const [what, , verdict] of cases) {
    const kind = what.split(':')[0]!;
    byKind.set(kind, new Set([...(byKind.get(kind) ?? []), verdict]));
  }
  const three: readonly Verdict[] = ['holds', 'in direction', 'does not hold'];
  expect([...byKind].filter(([, verdicts]) => !three.every((verdict) => verdicts.has(verdict)))).toEqual([]);
});

describe('a claim is not judged', () => {
  test('without its runs', () => {
    expect(judged(only(from(50), bestImprovement(made([1, 1, 1, 1]), 0.8)))).toEqual({
      verdict: 'not judged',
      ours: 'not covered by this run',
    });
  });

  test('without a job of its class', () => {
    expect(judged(isBetter([made([undefined, undefined, undefined, undefined])])).verdict).toBe('not judged');
  });

  test('about a trend, with only one point', () => {
    const even = [made([1, 1, 1, 1])];
    const judges = [falls, rises, tendsToOne].map((kind) => only(at(20), kind(even)));
    for (const judge of [...judges, only(at(20), isNearlyConstant(even, 0.1))]) {
      expect(judged(judge).verdict).toBe('not judged');
    }
    expect(judged(isLowestAt(made([1, undefined, undefined, undefined]), at(10))).verdict).toBe('not judged');
  });
});

test('a verdict includes its numbers, and the point of the axis', () => {
  expect(judged(bestImprovement(made([0.9, 0.21, 0.5, 1]), 0.8)).ours).toBe('79% at 20');
  expect(
    judged(isBelow(share(0.1, 0.2, 0.3, 0.4), { ...share(0.2, 0.3, 0.4, 0.5), name: 'other' })).ours,
  ).toBe('made up against other: 10% and 20% at 10, 20% and 30% at 20, 30% and 40% at 30, 40% and 50% at 40');
  expect(judged(isMuchBetter([made([0.7, 0.5, 0.042, 0.7], 'ratio', 'short p50')], 0.2)).ours).toBe(
    'short p50 0.042–0.70',
  );
  expect(judged(rises([made([0.2, 0.4, 0.5, 0.8], 'ratio', 'short p50')])).ours).toBe(
    'short p50 0.20 to 0.80 from 10 to 40',
  );
});

test('a number nearer to the paper’s never gets a worse verdict', () => {
  const ranks: readonly Verdict[] = ['not confirmed', 'does not hold', 'in direction', 'holds'];
  const gain = fc.double({ min: 0.1, max: 0.99, noNaN: true });
  fc.assert(
    fc.property(gain, gain, (one, other) => {
      const rank = (gained: number) =>
        ranks.indexOf(judged(bestImprovement(made([1 - gained, 3, 3, 3]), 0.8)).verdict);
      const [near, far] = [one, other].sort((a, b) => Math.abs(a - 0.8) - Math.abs(b - 0.8));
      expect(rank(near!)).toBeGreaterThanOrEqual(rank(far!));
    }),
  );
});

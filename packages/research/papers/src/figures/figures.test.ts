import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Figure } from './figure.js';
import { FIGURES, figuresNamed, GROUPS } from './figures.js';
import { type Point, pairName } from './point.js';
import { pointsAlong } from './runs.fixture.js';

const ids = (found: ReturnType<typeof figuresNamed>) =>
  'unknown' in found ? found : found.map(({ id }) => id);

test('a figure is found by its id, and several by the name of their group', () => {
  expect(ids(figuresNamed('hawk-5'))).toEqual(['hawk-5']);
  expect(ids(figuresNamed('hawk-6'))).toEqual(['hawk-6-cloudera', 'hawk-6-facebook', 'hawk-6-yahoo']);
  expect(ids(figuresNamed('all'))).toEqual(
    FIGURES.map(({ id }) => id).filter((id) => id !== 'packing-5' && id !== 'slearn-10'),
  );
});

test.each([
  ['hawk5', 'hawk-5'],
  ['Hawk-12', 'hawk-12'],
  ['hawk-6-yaho', 'hawk-6-yahoo'],
  ['motivaton', 'motivation'],
  ['sparrow-3', undefined],
  ['toString', undefined],
])('%s is not a figure, and the error suggests %s', (id, suggestion) => {
  expect(figuresNamed(id)).toEqual({ unknown: id, suggestion });
});

test('ids are unique, and no group has the id of a figure', () => {
  const all = [...FIGURES.map(({ id }) => id), ...Object.keys(GROUPS)];
  expect(new Set(all).size).toBe(all.length);
});

test.each(FIGURES.map((figure) => [figure.id, figure] as const))('%s is valid', (_, figure) => {
  const variants = new Set(figure.variants.map(({ name }) => name));
  expect(variants.size).toBe(figure.variants.length);
  for (const { of, over } of figure.pairs ?? []) {
    expect([of, over].every((name) => variants.has(name))).toBe(true);
  }
  const places = figure.axis.ticks.map(({ x }) => x);
  expect(new Set(places).size).toBe(places.length);
  expect(figure.claims.length).toBeGreaterThan(0);
  expect(figure.panels.length).toBeGreaterThan(0);
  for (const { section } of figure.claims) expect(section).toMatch(/^(§[\dIVX]|docs\/|ours$)/);
  // Without runs no claim is judged, so none fails.
  expect(new Set(figure.claims.map(({ judge }) => judge([]).verdict))).toEqual(new Set(['not judged']));
});

test.each(FIGURES.map((figure) => [figure.id, figure] as const))(
  '%s: no effect holds if all policies are the same',
  (_, figure) => {
    const positive = fc.double({ min: 0.05, max: 0.95, noNaN: true });
    fc.assert(
      fc.property(positive, (value) => {
        const points = figure.axis.ticks.map((tick): Point => samePolicies(figure, tick, value));
        for (const { text, judge } of figure.claims) {
          const { verdict, ours } = judge(points);
          if (judge.kind === 'effect') expect([text, ours, verdict]).not.toContain('holds');
        }
      }),
      { numRuns: 10 },
    );
  },
);

/** A point at which all variants have the same numbers. */
function samePolicies({ variants, pairs = [] }: Figure, tick: Point['tick'], value: number): Point {
  const each = <T>(made: T) => Object.fromEntries(variants.map(({ name }) => [name, made]));
  const ofPairs = <T>(made: T) => Object.fromEntries(pairs.map(({ of, over }) => [pairName(of, over), made]));
  const seconds = 1_000 * value;
  const distribution = { count: 9, mean: seconds, p50: seconds, p90: seconds, p99: seconds, max: seconds };
  const percentiles = Array.from({ length: 101 }, () => seconds);
  const paired = { improved: 0, improvedByHalf: 0, betterOrEqual: 1 };
  const wait = { own: value / 3, common: value / 3, lower: 0 };
  return {
    tick,
    measured: each({
      runtimeSeconds: { short: distribution, long: distribution, all: distribution },
      busy: { mean: value, p50: value, max: value, intervalSeconds: 1 },
      percentiles: { short: percentiles, long: percentiles },
    }) as unknown as Point['measured'],
    paired: ofPairs({ short: paired, long: paired }),
    errors: each(percentiles.map(() => value)),
    queues: each({ tasks: 100 * value, peak: 200 * value }),
    speedups: ofPairs({ average: 1, p50: 1 }),
    waits: ofPairs({ none: wait, moderate: wait, long: wait }),
    accuracy: each({ errorP50: value, rightQueueShare: value }),
    planned: each({
      missed: value,
      goodputHours: { deadline: seconds, bestEffort: seconds },
      bestEffortSeconds: seconds,
      preemptions: 3,
      cycleSeconds: { p50: value, p99: value, max: value },
      predictionSeconds: { p50: value, p99: value, max: value },
    }),
    staged: each({
      meanSeconds: seconds,
      p95Seconds: seconds,
      makespanSeconds: seconds,
      fairness: value,
      slower: 0,
      muchSlower: 0,
    }),
  };
}

test('a share of SLearn holds if ours is less than five points below it, as in other figures', () => {
  const claims = FIGURES.find(({ id }) => id === 'slearn-wait')!.claims;
  const [point] = pointsAlong([1]) as [Point];
  const verdicts = (none: number, lower: number) => {
    const segment = (common: number) => ({ own: common, common, lower });
    const shares = { none: segment(none), moderate: segment(0.2), long: segment(0.2) };
    const waits = { [pairName('slearn', '3sigma')]: shares };
    return [0, 2].map((claim) => claims[claim]!.judge([{ ...point, waits }]).verdict);
  };
  expect(verdicts(0.32, 0.8)).toEqual(['holds', 'holds']);
  expect(verdicts(0.2, 0.5)).toEqual(['in direction', 'in direction']);
});

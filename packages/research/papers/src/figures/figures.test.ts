import { meanOf, Random } from '@goshawk/core';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { assessSeeds, type RunsAt } from './assess.js';
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

test('a claim that the same policies fulfil says that they are alike', () => {
  const likeness =
    /alike|similar|close|hardly|converge|do well|little|barely|minutely|maintains|matches|apart|at most|equal|about 1%|to the level/;
  const texts = FIGURES.flatMap(({ claims }) => claims.filter(({ judge }) => judge.kind === 'alike')).map(
    ({ text }) => text,
  );
  expect(texts.filter((text) => !likeness.test(text))).toEqual([]);
});

test.each([1, 3])('of policies that differ by chance alone, hardly any effect holds: %i seeds', (seeds) => {
  let drawn = 0;
  const held: string[] = [];
  for (const figure of FIGURES) {
    const claims = figure.claims.filter(({ judge }) => judge.kind === 'effect');
    for (let draw = 1; claims.length > 0 && draw <= 2; draw++) {
      const random = Random.seeded(`${figure.id} ${draw}`);
      // With one seed, only ratios beyond 5% count.
      const noise = seeds === 1 ? 0.015 : 0.2;
      const value = () => 0.4 * Math.exp(noise * normal(random));
      const chosen = { ...figure, claims, panels: [] };
      for (const { text, verdict, ours } of judgedByChance(chosen, seeds, value)) {
        drawn++;
        if (verdict === 'holds') held.push(`${figure.id} ${text}: ${ours}`);
      }
    }
  }
  expect(held.length / drawn, held.join('\n')).toBeLessThan(0.025);
});

/** Judges a figure whose variants have independent draws of the same distribution at each point, for each seed. */
function judgedByChance(figure: Figure, seeds: number, value: () => number) {
  const places = figure.axis.ticks.map((tick) => {
    const runs = Array.from({ length: seeds }, () => pointAt(figure, tick, value));
    return { tick, byVariant: { all: runs } };
  });
  const workload = { name: 'drawn', sha256: '', jobs: 1e9, tasks: 1, taskSeconds: 1, spanSeconds: 1 };
  const means = ({ byVariant: { all = [] } }: RunsAt<Point>) => (all.length === 1 ? all[0]! : averaged(all));
  return assessSeeds(places, means, {
    ...{ figure, axis: figure.axis, workload, command: '', generator: '' },
    ...{ seeds: Array.from({ length: seeds }, (_, index) => index + 1), workers: 1, runs: [], trials: [] },
  }).claims;
}

/** Averages all numbers of points of one shape. All elements of a list are the same. */
function averaged<T>(all: readonly T[]): T {
  const [first] = all;
  if (typeof first === 'number') return meanOf(all as readonly number[]) as T;
  if (Array.isArray(first))
    return Array(first.length).fill(meanOf(all, (each) => (each as number[])[0]!)) as T;
  if (typeof first !== 'object' || first === null) return first as T;
  const names = Object.keys(first) as (keyof T)[];
  return Object.fromEntries(names.map((name) => [name, averaged(all.map((each) => each[name]))])) as T;
}

/** A number of a normal distribution, by the method of Box and Muller. */
function normal(random: Random): number {
  return Math.sqrt(-2 * Math.log(1 - random.next())) * Math.cos(2 * Math.PI * random.next());
}

/** A point at which all variants have the same numbers. */
function samePolicies(figure: Figure, tick: Point['tick'], value: number): Point {
  return pointAt(figure, tick, () => value);
}

/** A point at which each variant has numbers made of one value. */
function pointAt({ variants, pairs = [] }: Figure, tick: Point['tick'], draw: () => number): Point {
  const values = new Map(variants.map(({ name }) => [name, draw()]));
  const each = <T>(made: (value: number) => T) =>
    Object.fromEntries([...values].map(([name, value]) => [name, made(value)]));
  const ofPairs = <T>(made: (of: number, over: number) => T) =>
    Object.fromEntries(
      pairs.map(({ of, over }) => [pairName(of, over), made(values.get(of)!, values.get(over)!)]),
    );
  const distribution = (value: number) => {
    const seconds = 1_000 * value;
    return { count: 9, mean: seconds, p50: seconds, p90: seconds, p99: seconds, max: seconds };
  };
  const percentiles = (value: number) => Array.from({ length: 101 }, () => value);
  const paired = { improved: 0, improvedByHalf: 0, betterOrEqual: 1 };
  return {
    tick,
    measured: each((value) => ({
      runtimeSeconds: { short: distribution(value), long: distribution(value), all: distribution(value) },
      busy: { mean: value, p50: value, max: value, intervalSeconds: 1 },
      percentiles: { short: percentiles(1_000 * value), long: percentiles(1_000 * value) },
    })) as unknown as Point['measured'],
    paired: ofPairs(() => ({ short: paired, long: paired })),
    errors: each(percentiles),
    queues: each((value) => ({ tasks: 100 * value, peak: 200 * value })),
    speedups: ofPairs((of, over) => ({ average: over / of, p50: over / of })),
    waits: ofPairs((of) => {
      const wait = { own: of / 3, common: of / 3, lower: 0 };
      return { none: wait, moderate: wait, long: wait };
    }),
    accuracy: each((value) => ({ errorP50: value, rightQueueShare: value })),
    planned: each((value) => ({
      missed: value,
      goodputHours: { deadline: 1_000 * value, bestEffort: 1_000 * value },
      bestEffortSeconds: 1_000 * value,
      preemptions: 3,
      cycleSeconds: { p50: value, p99: value, max: value },
      predictionSeconds: { p50: value, p99: value, max: value },
    })),
    staged: each((value) => ({
      meanSeconds: 1_000 * value,
      p95Seconds: 1_000 * value,
      percentiles: new Array<number>(101).fill(1_000 * value),
      makespanSeconds: 1_000 * value,
      fairness: value,
      slower: 0,
      muchSlower: 0,
    })),
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

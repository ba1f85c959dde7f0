import type { Run } from '@goshawk/report';
import { expect, test } from 'vitest';
import type { Pair } from './pair.js';
import { differences, measurements, misses } from './results.js';
import { summarise } from './summary.js';

function run(seconds: number, attempts: number): Run {
  const runtime = { count: 1, mean: seconds, p50: seconds, p90: 2 * seconds, p99: seconds, max: seconds };
  return {
    runtimeSeconds: { short: runtime, long: runtime, all: runtime },
    steals: { attempts, successes: 0, probesMoved: 0 },
  } as unknown as Run;
}

function pair(policy: string, live: Run, ...simulated: Run[]): Pair {
  const steal = {
    type: 'steal',
    sameProcess: false,
    from: 'c',
    to: 's',
    sentAt: 0,
    handledAt: 1,
    handlingMs: 0.5,
  } as const;
  return {
    options: { policy },
    loadBefore: 0.25,
    live,
    simulated,
    summary: summarise({
      travelled: [1, 2, 6].map((delayMs) => ({ ...steal, delayMs })),
      sleeps: [{ at: 0, lateMs: 4 }],
      timers: [],
    }),
  } as unknown as Pair;
}

const PAIRS = [
  pair('hawk', run(10, 100), run(11, 90), run(13, 100)),
  pair('hawk', run(10, 100), run(9, 110)),
  pair('sparrow', run(10, 0), run(10, 0)),
];

test('the mean of the simulations is compared with the live run, pair by pair and policy by policy', () => {
  const found = differences(PAIRS);
  expect(found.map(({ name }) => name)).toEqual(
    ['hawk', 'sparrow'].flatMap((policy) =>
      ['short p50', 'short p90', 'long p50', 'long p90'].map((what) => `${policy} ${what}`),
    ),
  );
  expect(found[0]!.runs.map((value) => Math.round(value))).toEqual([20, -10]);
  expect(found[4]!.runs).toEqual([0]);
});

test('the measurements are listed too, steals only if there were any', () => {
  const seen = new Map(measurements(PAIRS).map(({ name, runs }) => [name, runs]));
  expect(seen.get('hawk load of the machine before')).toEqual([0.25, 0.25]);
  expect(seen.get('hawk short p50, range of the simulations')!.map(Math.round)).toEqual([17, 0]);
  expect(seen.get('hawk steal and stolen, mean')).toEqual([3, 3]);
  expect(seen.get('hawk steal and stolen, p50')).toEqual([2, 2]);
  expect(seen.get('hawk steal and stolen, handling it, mean')).toEqual([0.5, 0.5]);
  expect(seen.get('hawk sleeps late, mean')).toEqual([4, 4]);
  expect(seen.has('hawk timers late, mean')).toBe(false);
  expect(seen.get('hawk steal requests')!.map((value) => Math.round(value))).toEqual([-5, 10]);
  expect(seen.has('sparrow steal requests')).toBe(false);
});

test('a median may be off by 5%, a 90th percentile by 10%, either way', () => {
  const found = (name: string, value: number) => ({ name, unit: '%', value, runs: [value] });
  const fine = [found('a p50', 4.9), found('a p90', -9.9)];
  const off = [found('b p50', -5.1), found('b p90', 10.1)];
  expect(misses([...fine, ...off])).toEqual(off);
});

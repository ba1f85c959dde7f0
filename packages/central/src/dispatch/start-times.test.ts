import { Random } from '@goshawk/core';
import { expect, it } from 'vitest';
import { StartTimes } from './start-times.js';

const SECOND = 1_000;

/** Records waits of one kind, each of a separate stage. With `basisMs` of work ahead, a wait takes `waitMs(basisMs)`. */
function seen(
  waits: number,
  {
    kind = 'short',
    basisMs = () => 0,
    waitMs,
  }: { kind?: string; basisMs?: () => number; waitMs: (basisMs: number) => number },
  times = new StartTimes<object>(),
): StartTimes<object> {
  for (let at = 0; at < waits; at++) {
    const stage = {};
    const basis = { kind, basisMs: basisMs() };
    times.sample(stage, basis, 0, 0);
    times.started(stage, waitMs(basis.basisMs));
  }
  return times;
}

it('uses waits of all kinds until its kind has ten, and predicts nothing until all kinds have ten', () => {
  const alike = (waitMs: number) => ({ p10: waitMs, p50: waitMs, p90: waitMs });
  const times = seen(9, { waitMs: () => SECOND });
  expect(times.predict({ kind: 'short', basisMs: 0 })).toBeUndefined();
  seen(1, { waitMs: () => SECOND }, times);
  expect(times.predict({ kind: 'short', basisMs: 0 })).toEqual({ ...alike(SECOND), waits: 10 });
  expect(times.predict({ kind: 'long', basisMs: 0 })).toEqual({ ...alike(SECOND), waits: 10 });
  // Waits of stages that were next in the queue predict nothing for a stage with work ahead.
  expect(times.predict({ kind: 'short', basisMs: 1 })).toBeUndefined();
  seen(10, { kind: 'long', waitMs: () => 60 * SECOND }, times);
  expect(times.predict({ kind: 'long', basisMs: 0 })).toEqual({ ...alike(60 * SECOND), waits: 10 });
  expect(times.predict({ kind: 'short', basisMs: 0 })).toEqual({ ...alike(SECOND), waits: 10 });
});

it('covers eight of ten later waits, for any amount of work ahead', () => {
  const random = Random.seeded('start times');
  const basisMs = () => 10 ** (3 + 3 * random.next());
  // Two to eight times the estimate.
  const waitMs = (basis: number) => basis * 2 ** (1 + 2 * random.next());
  const times = seen(2_000, { basisMs, waitMs });
  let within = 0;
  for (let at = 0; at < 1_000; at++) {
    const basis = basisMs();
    const { p10, p90 } = times.predict({ kind: 'short', basisMs: basis })!;
    const waited = waitMs(basis);
    if (waited >= p10 && waited <= p90) within++;
  }
  expect(within).toBeGreaterThan(700);
  expect(within).toBeLessThan(900);
});

it('gives more weight to waits with a similar amount of work ahead', () => {
  const times = seen(500, { basisMs: () => 10 * SECOND, waitMs: () => 10 * SECOND });
  seen(500, { basisMs: () => 1_000 * SECOND, waitMs: () => 4_000 * SECOND }, times);
  const near = times.predict({ kind: 'short', basisMs: 20 * SECOND })!;
  expect(near.p50 / (20 * SECOND)).toBeCloseTo(1, 1);
  const far = times.predict({ kind: 'short', basisMs: 900 * SECOND })!;
  expect(far.p50 / (900 * SECOND)).toBeCloseTo(4, 1);
  // With equal distances, all waits have equal weight.
  const elsewhere = seen(500, { kind: 'long', basisMs: () => SECOND, waitMs: () => 3 * SECOND }, times);
  expect(elsewhere.predict({ kind: 'long', basisMs: 60 * SECOND })!.p10 / (60 * SECOND)).toBeCloseTo(3, 0);
});

it('forgets the oldest waits', () => {
  const times = seen(2_048, { waitMs: () => 60 * SECOND });
  seen(2_048, { waitMs: () => SECOND }, times);
  expect(times.predict({ kind: 'short', basisMs: 0 })).toMatchObject({ p10: SECOND, p90: SECOND });
});

it('keeps a limited number of samples, spread over the whole duration of a long wait', () => {
  const times = new StartTimes<object>();
  const stage = {};
  for (let at = 0; at < 100_000; at++) times.sample(stage, { kind: 'long', basisMs: 0 }, 1, at);
  times.started(stage, 100_000);
  const { p10, p90, waits } = times.predict({ kind: 'long', basisMs: 0 })!;
  expect(waits).toBeLessThanOrEqual(64);
  // Behaves like sampling at random times: a tenth of the kept samples lies in the last tenth of the wait.
  expect(Math.abs(p10 - 10_000)).toBeLessThan(3_000);
  expect(Math.abs(p90 - 90_000)).toBeLessThan(3_000);
});

it('weights waits by the time that they represent', () => {
  const times = new StartTimes<object>();
  const basis = { kind: 'short', basisMs: 0 };
  const wait = (forMs: number, waitMs: number, now: number) => {
    const stage = {};
    times.sample(stage, basis, forMs, now);
    times.started(stage, now + waitMs);
  };
  // 200 short waits within one second, and 60 long waits within one minute.
  for (let at = 0; at < 200; at++) wait(5, 10, at * 5);
  for (let at = 0; at < 60; at++) wait(SECOND, 60 * SECOND, at * SECOND);
  expect(times.predict(basis)).toMatchObject({ p10: 60 * SECOND, p50: 60 * SECOND, p90: 60 * SECOND });
});

import type { RecordedJob } from '@goshawk/traces';
import { expect, it } from 'vitest';
import { messageDelayMs } from './message-delay.js';

/** Jobs of a task of a second, by what each took beside it. */
const recorded = (...overheadSeconds: (number | undefined)[]): RecordedJob[] =>
  overheadSeconds.map((overhead) => ({
    job: { submitSeconds: 0, durationsSeconds: Float64Array.of(1), meanSeconds: 1 },
    runtimeSeconds: overhead === undefined ? undefined : 1 + overhead,
  }));

it('is as many times as long as jobs took beside their longest task', () => {
  const jobs = recorded(...Array.from({ length: 40 }, () => 0.008));
  expect(messageDelayMs(jobs, new Float64Array(40).fill(1.002), 0.5)).toBeCloseTo(2);
});

it('is not told by jobs that waited, in the simulation, or did not complete', () => {
  const jobs = recorded(...Array.from({ length: 40 }, () => 0.008), 30, undefined);
  const simulated = [...new Array(40).fill(1.002), 25, 1.002];
  expect(messageDelayMs(jobs, simulated, 0.5)).toBeCloseTo(2);
});

it('is not told by jobs that waited, in the record only', () => {
  const jobs = recorded(...Array.from({ length: 40 }, (_, index) => (index % 4 === 0 ? 0.5 : 0.008)));
  expect(messageDelayMs(jobs, new Float64Array(40).fill(1.002), 0.5)).toBeCloseTo(2);
});

it('is no more than a network takes', () => {
  const jobs = recorded(...Array.from({ length: 40 }, () => 3));
  expect(messageDelayMs(jobs, new Float64Array(40).fill(1.002), 0.5)).toBe(50);
});

it('is not told by a few', () => {
  expect(messageDelayMs(recorded(0.008, 0.008), [1.002, 1.002], 0.5)).toBeUndefined();
});

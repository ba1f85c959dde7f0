import { meanOf } from '@goshawk/core';
import type { RecordedJob } from '@goshawk/traces';
import { expect, it } from 'vitest';
import { messageDelaysMs } from './message-delay.js';

/** Returns jobs with one task of one second and these overheads. */
const recorded = (...overheadSeconds: (number | undefined)[]): RecordedJob[] =>
  overheadSeconds.map((overhead) => ({
    job: { submitSeconds: 0, durationsSeconds: Float64Array.of(1), meanSeconds: 1 },
    runtimeSeconds: overhead === undefined ? undefined : 1 + overhead,
  }));

const meanMs = (...args: Parameters<typeof messageDelaysMs>): number => meanOf(messageDelaysMs(...args)!);

it("is proportional to the jobs' time besides their longest task", () => {
  const jobs = recorded(...Array.from({ length: 40 }, () => 0.008));
  expect(meanMs(jobs, new Float64Array(40).fill(1.002), 0.5)).toBeCloseTo(2);
});

it('is not derived from jobs that waited in the simulation or did not complete', () => {
  const jobs = recorded(...Array.from({ length: 40 }, () => 0.008), 30, undefined);
  const simulated = [...new Array(40).fill(1.002), 25, 1.002];
  expect(meanMs(jobs, simulated, 0.5)).toBeCloseTo(2);
});

it('is not derived from jobs that waited in the record only', () => {
  const jobs = recorded(...Array.from({ length: 40 }, (_, index) => (index % 4 === 0 ? 0.5 : 0.008)));
  expect(meanMs(jobs, new Float64Array(40).fill(1.002), 0.5)).toBeCloseTo(2);
});

it('is not derived from jobs that waited only in the record or only in the simulation', () => {
  const waited = Array.from({ length: 60 }, (_, index) => 0.012 + index / 1_000);
  const atOnce = Array.from({ length: 40 }, () => 0.008);
  const simulated = [...atOnce.map(() => 0.002), ...waited].map((beside) => 1 + beside);
  expect(meanMs(recorded(...waited, ...atOnce), simulated, 0.5)).toBeCloseTo(2);
});

it('does not exceed the delay of a network', () => {
  const jobs = recorded(...Array.from({ length: 40 }, () => 3));
  expect(meanMs(jobs, new Float64Array(40).fill(1.002), 0.5)).toBe(50);
});

it('is not derived from a few jobs', () => {
  expect(messageDelaysMs(recorded(0.008, 0.008), [1.002, 1.002], 0.5)).toBeUndefined();
});

it('varies like the record', () => {
  const jobs = recorded(...Array.from({ length: 4_000 }, (_, index) => 0.004 + 0.008 * (index / 4_000)));
  const delays = messageDelaysMs(jobs, new Float64Array(4_000).fill(1.002), 0.5)!;
  expect(delays).toHaveLength(1_000);
  expect(delays[0]).toBeCloseTo(1);
  expect(delays.at(-1)).toBeCloseTo(3);
  expect(meanOf(delays)).toBeCloseTo(2);
});

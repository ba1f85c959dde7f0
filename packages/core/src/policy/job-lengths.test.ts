import { describe, expect, test } from 'vitest';
import { Random } from '../numbers/random.js';
import { JobLengths } from './job-lengths.js';

const DEFAULT_MS = 10_000;

function lengthsOf(meansMs: readonly number[], tasks = 1): JobLengths {
  const lengths = new JobLengths();
  for (const meanMs of meansMs) lengths.completed(new Float64Array(tasks).fill(meanMs));
  return lengths;
}

/** Run times around a median, with this standard deviation of the logarithm. */
function drawn(count: number, medianMs: number, spread: number, seed = 'lengths'): number[] {
  const random = Random.seeded(seed);
  const normal = () => Array.from({ length: 12 }, () => random.next()).reduce((a, b) => a + b) - 6;
  return Array.from({ length: count }, () => medianMs * Math.exp(spread * normal()));
}

describe('a cutoff', () => {
  test('is not learned from fewer than 100 jobs', () => {
    const lengths = lengthsOf([...drawn(90, 100, 0.2), ...drawn(9, 60_000, 0.2)]);
    expect([lengths.isEnough, lengths.cutoffMs(DEFAULT_MS)]).toEqual([false, DEFAULT_MS]);
  });

  test('is between two kinds of jobs, regardless of how many are long', () => {
    for (const long of [5, 60]) {
      const cutoffMs = lengthsOf([...drawn(140, 100, 0.2), ...drawn(long, 60_000, 0.2)]).cutoffMs(50);
      expect(cutoffMs, `${long} long`).toBeGreaterThan(500);
      expect(cutoffMs, `${long} long`).toBeLessThan(20_000);
    }
  });

  test('is the 90th percentile if run times vary and the longest tenth has most of the work', () => {
    const means = drawn(1_500, 1_000, 1.8);
    const p90 = means.toSorted((a, b) => a - b)[1_350]!;
    const cutoffMs = lengthsOf(means, 3).cutoffMs(DEFAULT_MS * 100);
    expect(cutoffMs / p90).toBeGreaterThan(0.8);
    expect(cutoffMs / p90).toBeLessThan(1.25);
  });

  test('is above all jobs if they are similar and some reached it', () => {
    const alike = drawn(200, 60_000, 0.4);
    expect(lengthsOf(alike).cutoffMs(DEFAULT_MS)).toBeGreaterThan(Math.max(...alike));
  });

  test('is above the many jobs that have little of the work, without a gap between the kinds', () => {
    const many = drawn(240, 2_000, 0.5);
    const means = [...many, ...drawn(80, 18_000, 0.5), ...drawn(40, 40_000, 0.4), ...drawn(40, 60_000, 0.5)];
    const cutoffMs = lengthsOf(means, 5).cutoffMs(1e9);
    expect(cutoffMs).toBeGreaterThan(many.toSorted((a, b) => a - b)[220]!);
    expect(cutoffMs).toBeLessThan(20_000);
  });

  test('does not separate jobs of similar run times, even if some have most of the work', () => {
    const lengths = lengthsOf(drawn(110, 1_000, 0.1), 1);
    for (const meanMs of drawn(90, 1_300, 0.1)) lengths.completed(new Float64Array(1_000).fill(meanMs));
    expect(lengths.cutoffMs(DEFAULT_MS)).toBe(DEFAULT_MS);
  });

  test('does not alternate if the shares of both kinds vary around a half', () => {
    const random = Random.seeded('alternating');
    const lengths = new JobLengths();
    let cutoffMs = DEFAULT_MS;
    let changes = 0;
    for (let job = 0; job < 20_000; job++) {
      if (random.next() < 0.52) lengths.record(2_000, 2_000);
      else lengths.record(9_000 + 30_000 * random.next(), 200_000);
      const next = lengths.cutoffMs(cutoffMs);
      if (next !== cutoffMs) changes++;
      cutoffMs = next;
    }
    expect(changes).toBeLessThanOrEqual(2);
  });

  test('stays while no job is long, because long jobs may not have ended', () => {
    expect(lengthsOf(drawn(200, 100, 0.4)).cutoffMs(DEFAULT_MS)).toBe(DEFAULT_MS);
  });

  test('stays if the new cutoff is within half of it', () => {
    const lengths = lengthsOf(drawn(1_500, 1_000, 1.8));
    const cutoffMs = lengths.cutoffMs(1e9);
    for (const near of [cutoffMs * 1.4, cutoffMs / 1.4]) expect(lengths.cutoffMs(near)).toBe(near);
  });

  test('gives old jobs little weight', () => {
    const lengths = lengthsOf([...drawn(900, 300, 0.2), ...drawn(100, 30_000, 0.2)]);
    expect(lengths.cutoffMs(DEFAULT_MS * 100)).toBeLessThan(10_000);
    for (const meanMs of [...drawn(9_000, 300_000, 0.2), ...drawn(1_000, 3e7, 0.2)])
      lengths.completed(Float64Array.of(meanMs));
    expect(lengths.cutoffMs(3_000)).toBeGreaterThan(450_000);
    expect(lengths.seen).toBe(11_000);
  });

  test('is at least a second, however many shorter jobs there are', () => {
    const lengths = lengthsOf([...drawn(1_000, 1, 0.2), ...drawn(100, 50, 0.2)], 4);
    expect(lengths.cutoffMs(DEFAULT_MS)).toBe(1_000);
  });
});

test('reported histograms are the same after a transfer', () => {
  const lengths = lengthsOf([0.2, ...drawn(150, 100, 2), 1e30]);
  const elsewhere = new JobLengths();
  elsewhere.add(lengths.counts());
  expect(elsewhere.counts()).toEqual(lengths.counts());
  expect(elsewhere.cutoffMs(1)).toBe(lengths.cutoffMs(1));
});

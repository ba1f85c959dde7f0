import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { MeasurementError } from './errors.js';
import { Snapshots } from './snapshots.js';

// Quarters are exact in binary, so that a brute-force count agrees at the edges too.
const intervals = fc.array(
  fc
    .tuple(fc.integer({ min: 0, max: 400 }), fc.integer({ min: 0, max: 100 }))
    .map(([from, length]) => ({ from: from / 4, to: (from + length) / 4 })),
  { maxLength: 60 },
);

describe('snapshots', () => {
  test('count open intervals at each instant, including the start but not the end', () => {
    const snapshots = new Snapshots(1);
    snapshots.add(1, 3);
    snapshots.add(1.5, 2.5);
    expect([...snapshots.until(4)]).toEqual([1, 2, 0, 0]);
  });

  test('ignore intervals between two instants', () => {
    const snapshots = new Snapshots(100);
    snapshots.add(101, 199);
    expect([...snapshots.until(300)]).toEqual([0, 0, 0]);
  });

  test('agree with counting the intervals one by one', () => {
    fc.assert(
      fc.property(intervals, fc.constantFrom(0.5, 1, 3), (all, intervalSeconds) => {
        const snapshots = new Snapshots(intervalSeconds);
        for (const { from, to } of all) snapshots.add(from, to);
        for (const [index, open] of snapshots.until(130).entries()) {
          const seconds = (index + 1) * intervalSeconds;
          expect(open).toBe(all.filter(({ from, to }) => from <= seconds && seconds < to).length);
        }
      }),
    );
  });

  test('conserve time: over intervals that end on instants, counts add up to their lengths', () => {
    const aligned = intervals.map((all) =>
      all.map(({ from, to }) => ({ from: from * 4 + 1, to: to * 4 + 1 })),
    );
    fc.assert(
      fc.property(aligned, (all) => {
        const snapshots = new Snapshots(1);
        for (const { from, to } of all) snapshots.add(from, to);
        const seen = snapshots.until(600).reduce((sum, open) => sum + open, 0);
        expect(seen).toBe(all.reduce((sum, { from, to }) => sum + to - from, 0));
      }),
    );
  });

  test('reject an interval of 0', () => {
    expect(() => new Snapshots(0)).toThrow(MeasurementError);
  });

  test('are further apart in a very long run, with the same counts', () => {
    const snapshots = new Snapshots(1);
    snapshots.add(3, 1_000);
    snapshots.add(5, 5_000_000);
    expect(snapshots.intervalSeconds).toBe(8);
    const counts = snapshots.until(5_000_016);
    expect([counts[0], counts[123], counts[124], counts[624_998]]).toEqual([2, 2, 1, 1]);
    expect(counts.at(-1)).toBe(0);
    const other = new Snapshots(1);
    other.add(3, 1_000);
    other.widenTo(8);
    expect([...other.until(1_016).subarray(122)]).toEqual([1, 1, 0, 0, 0]);
  });
});

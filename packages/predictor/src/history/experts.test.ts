import { nearestRank } from '@goshawk/core';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { DEFAULT_EXPERTS, GUESSES, Runs } from './experts.js';

const runTimes = fc.array(fc.double({ min: 0, max: 1e7, noNaN: true }), { minLength: 1, maxLength: 150 });
const [average, median, rolling, recent] = GUESSES.map((_, expert) => expert) as [
  number,
  number,
  number,
  number,
];

function runsOf(values: readonly number[], settings = DEFAULT_EXPERTS): Runs {
  const runs = new Runs(settings);
  for (const value of values) runs.add(value);
  return runs;
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

describe('the four experts', () => {
  test('average of all, median of the newest 50, average of the newest 10', () => {
    fc.assert(
      fc.property(runTimes, (values) => {
        const runs = runsOf(values);
        expect(runs.guess(average)).toBeCloseTo(mean(values), 3);
        expect(runs.guess(median)).toBe(nearestRank(Float64Array.from(values.slice(-50)).sort(), 50));
        expect(runs.guess(recent)).toBeCloseTo(mean(values.slice(-10)), 3);
      }),
    );
  });

  test('rolling: the newest run has weight 0.6, and the first run is taken as it is', () => {
    expect(runsOf([100]).guess(rolling)).toBe(100);
    expect(runsOf([100, 200]).guess(rolling)).toBe(160);
    expect(runsOf([100, 200, 0]).guess(rolling)).toBe(64);
  });

  test('are scored by their guess before each run except the first', () => {
    const runs = runsOf([100, 300, 200]);
    expect(runs.scored).toBe(2);
    // Predictions: 100 and then 200 by average; 100 and 100 by median; 100 and 220 by rolling. The runs were 300 and 200.
    expect(runs.errorOf(average)).toBeCloseTo((200 + 0) / 500, 12);
    expect(runs.errorOf(median)).toBeCloseTo((200 + 100) / 500, 12);
    expect(runs.errorOf(rolling)).toBeCloseTo((200 + 20) / 500, 12);
    expect(runs.logVarianceOf(median)).toBeCloseTo((Math.log(3) ** 2 + Math.log(2) ** 2) / 2, 12);
  });

  test('a run of 0 ms does not count as an error of experts that guessed 0 ms', () => {
    const runs = runsOf([0, 0, 0]);
    expect(runs.errorOf(average)).toBe(0);
    expect(runs.logVarianceOf(average)).toBe(0);
  });

  test('use no more memory after 50,000 runs than after 1,000', () => {
    const values = Array.from({ length: 50_000 }, (_, i) => (i * 7_919) % 100_003);
    const sizes = [1_000, 50_000].map((count) => {
      const { bins, recent, ...rest } = runsOf(values.slice(0, count)).save();
      return [bins.length, recent.length, Object.values(rest).flat().length];
    });
    expect(sizes[1]).toEqual(sizes[0]);
  });

  test('continue from their saved state', () => {
    fc.assert(
      fc.property(runTimes, runTimes, (before, after) => {
        const stayed = runsOf(before);
        const returned = Runs.load(JSON.parse(JSON.stringify(stayed.save())));
        for (const value of after) {
          for (let expert = 0; expert < GUESSES.length; expert++) {
            expect(returned.guess(expert)).toBe(stayed.guess(expert));
          }
          stayed.add(value);
          returned.add(value);
        }
        expect(returned.save()).toEqual(stayed.save());
      }),
    );
  });
});

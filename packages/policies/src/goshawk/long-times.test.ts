import { expect, test } from 'vitest';
import { LongTimes } from './long-times.js';

function knowing(...meansMs: number[]): LongTimes {
  const times = new LongTimes();
  meansMs.forEach((ms, job) => {
    times.learn(`${job}`, ms);
  });
  return times;
}

test("without any data the owner's estimate counts", () => {
  expect(knowing().pessimisticEstimate(1_000)).toBe(1_000);
});

test('if all long jobs are alike, an unknown one is assumed to be the same', () => {
  expect(knowing(5_000, 5_000, 5_000).pessimisticEstimate(1_000)).toBe(5_000);
});

test('the estimate grows with the spread: six standard deviations above the mean', () => {
  expect(knowing(4_000, 6_000).pessimisticEstimate(1_000)).toBe(5_000 + 6 * 1_000);
  expect(knowing(1_000, 9_000).pessimisticEstimate(1_000)).toBe(5_000 + 6 * 4_000);
});

test("a job that has run longer than that counts with the owner's estimate", () => {
  expect(knowing(4_000, 6_000).pessimisticEstimate(12_000)).toBe(12_000);
});

test('a job that is reported again counts once, with the last report', () => {
  const times = knowing(4_000, 9_000);
  times.learn('1', 6_000);
  expect(times.pessimisticEstimate(0)).toBe(5_000 + 6 * 1_000);
});

test('the last hundred count', () => {
  const times = knowing(90_000);
  for (let job = 1; job <= 100; job++) times.learn(`${job}`, 5_000);
  expect(times.pessimisticEstimate(0)).toBe(5_000);
});

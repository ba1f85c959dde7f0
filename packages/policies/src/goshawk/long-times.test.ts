import { expect, test } from 'vitest';
import { LongTimes } from './long-times.js';

function knowing(...meansMs: number[]): LongTimes {
  const times = new LongTimes();
  meansMs.forEach((ms, job) => {
    times.learn(`${job}`, ms);
  });
  return times;
}

test('as long as nothing is known, its owner is believed', () => {
  expect(knowing().doubted(1_000)).toBe(1_000);
});

test('where all long jobs are alike, one that is not known is as well', () => {
  expect(knowing(5_000, 5_000, 5_000).doubted(1_000)).toBe(5_000);
});

test('the more they differ, the longer it may be: six standard deviations above their mean', () => {
  expect(knowing(4_000, 6_000).doubted(1_000)).toBe(5_000 + 6 * 1_000);
  expect(knowing(1_000, 9_000).doubted(1_000)).toBe(5_000 + 6 * 4_000);
});

test('what has run for longer than that is believed to be as long as its owner says', () => {
  expect(knowing(4_000, 6_000).doubted(12_000)).toBe(12_000);
});

test('a job that is heard of again counts once, as it was heard of last', () => {
  const times = knowing(4_000, 9_000);
  times.learn('1', 6_000);
  expect(times.doubted(0)).toBe(5_000 + 6 * 1_000);
});

test('the last hundred count', () => {
  const times = knowing(90_000);
  for (let job = 1; job <= 100; job++) times.learn(`${job}`, 5_000);
  expect(times.doubted(0)).toBe(5_000);
});

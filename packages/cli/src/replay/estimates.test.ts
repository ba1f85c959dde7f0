import { InputError, Random } from '@goshawk/core';
import { expect, it } from 'vitest';
import { estimateOf, parseEstimator } from './estimates.js';

const job = { submitSeconds: 0, durationsSeconds: Float64Array.of(0.1, 0.3), meanSeconds: 0.15 };

it('tells the true mean, or what stands in the trace, the word of the submitter first', () => {
  expect(estimateOf(parseEstimator('oracle'), job, Random.seeded(1))).toBe(200);
  expect(estimateOf(parseEstimator('given'), job, Random.seeded(1))).toBe(150);
  const believed = { ...job, estimateSeconds: 0.04 };
  expect(estimateOf(parseEstimator('given'), believed, Random.seeded(1))).toBe(40);
});

it('draws noise evenly between its bounds, the same for the same seed', () => {
  const noisy = parseEstimator('noisy:0.1-1.9');
  const draws = (seed: number) => {
    const random = Random.seeded(seed);
    return Array.from({ length: 2_000 }, () => estimateOf(noisy, job, random));
  };
  expect(draws(1)).toEqual(draws(1));
  expect(draws(1)).not.toEqual(draws(2));
  expect(Math.min(...draws(1))).toBeGreaterThanOrEqual(20);
  expect(Math.max(...draws(1))).toBeLessThanOrEqual(380);
  const mean = draws(1).reduce((sum, each) => sum + each, 0) / 2_000;
  // 200, with a deviation of 2.3.
  expect(Math.abs(mean - 200)).toBeLessThan(12);
});

it.each(['pilot', 'history', 'hybrid', 'noisy', 'noisy:1', 'noisy:-1-2', ''])(
  'refuses %j and names the known ones',
  (text) => {
    expect(() => parseEstimator(text)).toThrow(InputError);
    expect(() => parseEstimator(text)).toThrow(`there is no estimator "${text}"`);
    try {
      parseEstimator(text);
    } catch (error) {
      expect((error as InputError).hint).toBe('known: oracle, given, noisy:LOW-HIGH');
    }
  },
);

it('refuses bounds in the wrong order', () => {
  expect(() => parseEstimator('noisy:1.9-0.1')).toThrow('1.9 is above 0.1');
});

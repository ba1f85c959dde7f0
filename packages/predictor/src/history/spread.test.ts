import { describe, expect, test } from 'vitest';
import { Spread, spreadOf } from './spread.js';

describe('the spread of tasks', () => {
  test('is the log variance of a lognormal of their mean and variance', () => {
    expect(spreadOf([1, 3])).toBeCloseTo(Math.log(1.5), 12);
    expect(spreadOf([5, 5, 5])).toBe(0);
  });

  test('is undefined for one task, or for tasks of 0 ms', () => {
    expect(spreadOf([5])).toBeUndefined();
    expect(spreadOf([0, 0])).toBeUndefined();
  });

  test('of a group is that of a typical job, not dominated by a job with very different tasks', () => {
    const group = new Spread();
    expect(group.typical).toBeUndefined();
    for (const spread of [0.01, 0.01, 0.01, 0.01, 100]) group.add(spread);
    expect(group.typical).toBeCloseTo(0.01 ** 0.8 * 100 ** 0.2, 12);
    expect(Spread.load(group.save()).typical).toBe(group.typical);
  });
});

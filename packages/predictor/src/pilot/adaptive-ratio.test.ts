import { describe, expect, test } from 'vitest';
import { AdaptiveRatio } from './adaptive-ratio.js';

/** The state after the first 300 jobs, with these scores by ratio. */
function tried(scores: Readonly<Record<number, number>>): AdaptiveRatio {
  const ratio = new AdaptiveRatio();
  for (let job = 0; job < 300; job++) {
    const percent = ratio.choose();
    ratio.finished(percent, scores[percent]!);
  }
  return ratio;
}

function finish(ratio: AdaptiveRatio, percent: number, score: number, jobs = 100): AdaptiveRatio {
  for (let job = 0; job < jobs; job++) ratio.finished(percent, score);
  return ratio;
}

describe('the adaptive ratio (SLearn Figure 4)', () => {
  test('tries 3%, 2% and 4% for a hundred jobs each', () => {
    const ratio = new AdaptiveRatio();
    const chosen = Array.from({ length: 300 }, () => ratio.choose());
    expect(chosen).toEqual([3, 2, 4].flatMap((percent) => new Array<number>(100).fill(percent)));
  });

  test('stays at 3% if no job has finished', () => {
    const ratio = new AdaptiveRatio();
    for (let job = 0; job < 300; job++) ratio.choose();
    expect(ratio.choose()).toBe(3);
  });

  test.each([
    ['3% is best', { 2: 11, 3: 10, 4: 12 }, 3],
    ['2% is a little better', { 2: 9.5, 3: 10, 4: 12 }, 2],
    ['2% is better by exactly a tenth', { 2: 10, 3: 11, 4: 12 }, 2],
    ['2% is better by more than a tenth: 1% is tried', { 2: 9, 3: 10, 4: 12 }, 1],
    ['4% is a little better', { 2: 12, 3: 10, 4: 9.5 }, 4],
    ['4% is better by more than a tenth: 5% is tried', { 2: 12, 3: 10, 4: 9 }, 5],
    ['all are alike: the least', { 2: 10, 3: 10, 4: 10 }, 2],
  ])('%s', (_, scores, percent) => {
    expect(tried(scores).choose()).toBe(percent);
  });

  test('on a constructed trace, the ratio moves to 1%, stays while that is best, and returns', () => {
    const ratio = tried({ 2: 9, 3: 10, 4: 12 });
    expect(ratio.choose()).toBe(1);
    // 1% does worse than 2%: 2% is the best again, still by more than a tenth, so 1% is tried again.
    finish(ratio, 1, 9.5, 1);
    expect(ratio.choose()).toBe(1);
    // 2% has become worse: now 1% is the best.
    finish(ratio, 2, 9.6);
    expect(ratio.choose()).toBe(1);
    // The load has changed: 1% is bad now. 2% is the best, but not by a tenth.
    finish(ratio, 1, 30);
    expect(ratio.choose()).toBe(2);
    // Later 4% is.
    finish(ratio, 4, 9.5);
    expect(ratio.choose()).toBe(4);
    finish(ratio, 4, 8);
    expect(ratio.choose()).toBe(5);
  });

  test('only the last hundred scores of a ratio count', () => {
    const ratio = tried({ 2: 11, 3: 10, 4: 12 });
    finish(ratio, 4, 1, 50);
    // (50 · 12 + 50 · 1) / 100 = 6.5
    expect(ratio.choose()).toBe(5);
    finish(ratio, 4, 30, 50);
    // (50 · 1 + 50 · 30) / 100 = 15.5
    expect(ratio.choose()).toBe(3);
  });

  test('continues from its saved state', () => {
    const ratio = tried({ 2: 9, 3: 10, 4: 12 });
    const again = new AdaptiveRatio();
    again.load(JSON.parse(JSON.stringify(ratio.save())));
    expect(again.choose()).toBe(ratio.choose());
    expect(again.save()).toEqual(ratio.save());
  });
});

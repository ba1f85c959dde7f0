import { Random } from '@goshawk/core';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { exponential, integer, NormalDraws, StratifiedUniform, shuffle, urn } from './draws.js';

function moments(draw: () => number): { mean: number; deviation: number } {
  const count = 200_000;
  let total = 0;
  let squares = 0;
  for (let i = 0; i < count; i++) {
    const value = draw();
    total += value;
    squares += value * value;
  }
  const mean = total / count;
  return { mean, deviation: Math.sqrt(squares / count - mean * mean) };
}

describe('draws have their mean and deviation', () => {
  it('exponential', () => {
    const random = Random.seeded(7);
    const { mean, deviation } = moments(() => exponential(random, 3) / 3);
    expect(mean).toBeCloseTo(1, 1);
    expect(deviation).toBeCloseTo(1, 1);
  });

  it('normal', () => {
    const normal = new NormalDraws(Random.seeded(7));
    const { mean, deviation } = moments(() => normal.next());
    expect(mean).toBeCloseTo(0, 1);
    expect(deviation).toBeCloseTo(1, 1);
  });

  it('integer', () => {
    const random = Random.seeded(7);
    const { mean, deviation } = moments(() => integer(random, 7));
    expect(mean).toBeCloseTo(3, 1);
    expect(deviation).toBeCloseTo(2, 1);
  });
});

it('a shuffle loses nothing', () => {
  fc.assert(
    fc.property(fc.array(fc.integer()), fc.integer({ min: 0 }), (items, seed) => {
      const shuffled = shuffle(Random.seeded(seed), [...items]);
      expect(shuffled.toSorted()).toEqual(items.toSorted());
    }),
  );
});

it('an urn yields exactly its contents', () => {
  for (let seed = 0; seed < 20; seed++) {
    const draw = urn(Random.seeded(seed), 50, 7);
    const drawn = Array.from({ length: 50 }, draw);
    expect(drawn.filter(Boolean)).toHaveLength(7);
  }
});

it('draws once from each stratum in every round, in random order', () => {
  const stratified = new StratifiedUniform(Random.seeded(1), 16);
  const rounds = Array.from({ length: 3 }, () =>
    Array.from({ length: 16 }, () => Math.floor(stratified.draw() * 16)),
  );
  for (const round of rounds) expect(round.toSorted((a, b) => a - b)).toEqual([...Array(16).keys()]);
  expect(rounds[0]).not.toEqual(rounds[1]);
});

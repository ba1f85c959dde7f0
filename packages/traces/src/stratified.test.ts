import { Random } from '@goshawk/core';
import { expect, it } from 'vitest';
import { StratifiedUniform } from './stratified.js';

it('draws once from each stratum in every round, in another order', () => {
  const stratified = new StratifiedUniform(Random.seeded(1), 16);
  const rounds = Array.from({ length: 3 }, () =>
    Array.from({ length: 16 }, () => Math.floor(stratified.draw() * 16)),
  );
  for (const round of rounds) expect(round.toSorted((a, b) => a - b)).toEqual([...Array(16).keys()]);
  expect(rounds[0]).not.toEqual(rounds[1]);
});

import type { Address } from '@goshawk/core';
import { expect, test } from 'vitest';
import { IdleHints } from './idle-hints.js';

const [one, two, three] = [1, 2, 3] as [Address, Address, Address];
const anyone = () => true;

function hintsOf(...workers: Address[]): IdleHints {
  const hints = new IdleHints();
  hints.reset(true);
  for (const worker of workers) hints.add(worker);
  return hints;
}

test('a hint is used once, the newest first', () => {
  const hints = hintsOf(one, two, three, one);
  expect(hints.take(2, anyone)).toEqual([one, three]);
  expect(hints.take(2, anyone)).toEqual([two]);
  expect(hints.take(2, anyone)).toEqual([]);
});

test('a hint is dropped once its worker has received a task', () => {
  const hints = hintsOf(one, two);
  hints.delete(two);
  expect(hints.take(2, anyone)).toEqual([one]);
});

test('unsuitable hints are used up as well', () => {
  const hints = hintsOf(one, two, three);
  expect(hints.take(1, (worker) => worker !== three)).toEqual([two]);
  expect(hints.take(3, anyone)).toEqual([one]);
});

test('repeated hints of a worker take no more room, and keep their order', () => {
  const hints = hintsOf(one, two, three);
  for (let i = 0; i < 10_000; i++) hints.add(i % 2 === 0 ? two : three);
  expect(hints.stackSize).toBeLessThan(2_000);
  expect(hints.take(3, anyone)).toEqual([three, two, one]);
});

test('no hints are kept if workers do not seek', () => {
  const hints = hintsOf(one);
  hints.reset(true);
  expect(hints.size).toBe(0);
  hints.reset(false);
  hints.add(two);
  expect(hints.take(1, anyone)).toEqual([]);
});

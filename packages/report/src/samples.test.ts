import fc from 'fast-check';
import { expect, test } from 'vitest';
import { mergeSorted, Samples } from './samples.js';

const numbers = fc.array(fc.double({ noNaN: true, min: -1e6, max: 1e6 }).map((value) => value + 0));

test('keeps all values while it grows, and sorts them as numbers', () => {
  const samples = new Samples();
  for (let value = 5000; value > 0; value -= 1) samples.push(value);
  expect(samples.length).toBe(5000);
  expect([...samples.sorted().subarray(0, 3)]).toEqual([1, 2, 3]);
  expect(samples.sorted().at(-1)).toBe(5000);
});

test('sorts numbers of either sign, zeros and what is no number as the language does', () => {
  fc.assert(
    fc.property(fc.array(fc.double()), fc.boolean(), (drawn, unsigned) => {
      const values = unsigned ? drawn.map(Math.abs) : drawn;
      const samples = new Samples();
      for (const value of values) samples.push(value);
      expect(samples.sorted()).toEqual(Float64Array.from(values).sort());
    }),
  );
});

test('merging two sorted samples is sorting both together', () => {
  fc.assert(
    fc.property(numbers, numbers, (left, right) => {
      const merged = mergeSorted(Float64Array.from(left).sort(), Float64Array.from(right).sort());
      expect(merged).toEqual(Float64Array.from([...left, ...right]).sort());
    }),
  );
});

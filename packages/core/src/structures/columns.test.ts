import fc from 'fast-check';
import { expect, test } from 'vitest';
import { grown, Samples } from './columns.js';

test('a column grows to the requested size, at least doubles, and keeps its numbers and type', () => {
  expect(grown(Int32Array.of(1, -2, 3), 4)).toEqual(Int32Array.of(1, -2, 3, 0, 0, 0));
  expect(grown(Uint8Array.of(7), 5)).toEqual(Uint8Array.of(7, 0, 0, 0, 0));
  expect(grown(new Float64Array(0), 2)).toEqual(new Float64Array(2));
});

test('samples keep all values while it grows, and sort as numbers', () => {
  const samples = new Samples();
  for (let value = 5000; value > 0; value -= 1) samples.push(value);
  expect(samples.length).toBe(5000);
  expect([...samples.sorted().subarray(0, 3)]).toEqual([1, 2, 3]);
  expect(samples.sorted().at(-1)).toBe(5000);
});

test('samples sort numbers of either sign, zeros and NaN like the language does', () => {
  fc.assert(
    fc.property(fc.array(fc.double()), fc.boolean(), (drawn, unsigned) => {
      const values = unsigned ? drawn.map(Math.abs) : drawn;
      const samples = new Samples();
      for (const value of values) samples.push(value);
      expect(samples.sorted()).toEqual(Float64Array.from(values).sort());
    }),
  );
});

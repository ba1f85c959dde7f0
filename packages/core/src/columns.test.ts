import { expect, test } from 'vitest';
import { grown } from './columns.js';

test('a column has room for what is wanted, and twice what it had, and keeps its numbers and its kind', () => {
  expect(grown(Int32Array.of(1, -2, 3), 4)).toEqual(Int32Array.of(1, -2, 3, 0, 0, 0));
  expect(grown(Uint8Array.of(7), 5)).toEqual(Uint8Array.of(7, 0, 0, 0, 0));
  expect(grown(new Float64Array(0), 2)).toEqual(new Float64Array(2));
});

import { expect, it } from 'vitest';
import { ColumnBlocks } from './columns.js';

it('gives columns of zeros that share memory and no place in it', () => {
  const columns = new ColumnBlocks();
  const lengths = [3, 5_000, 0, 4_000, 20_000, 2];
  const taken = lengths.map((length) => columns.take(length));
  expect(taken.map(({ length }) => length)).toEqual(lengths);
  expect(taken.every((column) => column.every((value) => value === 0))).toBe(true);
  for (const [place, column] of taken.entries()) column.fill(place + 1);
  expect(taken.every((column, place) => column.every((value) => value === place + 1))).toBe(true);
  expect(taken[1]!.buffer).toBe(taken[0]!.buffer);
});

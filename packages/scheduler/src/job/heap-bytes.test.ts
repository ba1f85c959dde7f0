import { LIMITS } from '@goshawk/core';
import { describe, expect, it, test } from 'vitest';
import { isAnswerable, measureHeap, Page } from './heap-bytes.js';

test.each<[unknown, number, number]>([
  [7, 1, 0],
  ['seven', 1, 5],
  [null, 1, 0],
  [[1, 'b', [2]], 5, 1],
  [{ a: 1, bc: 'd' }, 5, 4],
  [new Uint8Array(9), 1, 9],
])('the weight of %j equals the count of the codec', (value, values, bytes) => {
  expect(measureHeap(value)).toStrictEqual({ values, bytes });
});

test('a value of any depth is weighed', () => {
  let deep: unknown = 1;
  for (let i = 0; i < 100_000; i++) deep = [deep];
  expect(measureHeap(deep).values).toBe(100_001);
});

describe('a page', () => {
  it('ends at the limit of bytes or values', () => {
    const half = 'x'.repeat(LIMITS.answerBytesMax / 2);
    const long = new Page<string>();
    expect([half, half, 'x'].map((item) => long.take(item))).toStrictEqual([true, true, false]);
    const many = new Page<number>();
    let taken = 0;
    while (many.take(taken)) taken++;
    expect(taken).toBe(LIMITS.answerValuesMax);
  });

  it('accepts its first item, however large', () => {
    const large = 'x'.repeat(2 * LIMITS.answerBytesMax);
    expect(isAnswerable(measureHeap(large))).toBe(false);
    expect(new Page<string>().take(large)).toBe(true);
  });
});

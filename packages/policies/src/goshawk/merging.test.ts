import { expect, test } from 'vitest';
import { mergedInOrder } from './merging.js';

test('sources are merged in order, equal items in the order of their sources', () => {
  const sources = [['b1', 'd1'], [], ['a2', 'b2', 'e2']];
  const merged = mergedInOrder(sources, (one, other) => one[0]! < other[0]!);
  expect([...merged]).toEqual(['a2', 'b1', 'b2', 'd1', 'e2']);
  expect([...mergedInOrder([], () => true)]).toEqual([]);
});

test('no item is read before it is needed', () => {
  const read: number[] = [];
  const source = function* () {
    for (const item of [1, 2, 3]) {
      read.push(item);
      yield item;
    }
  };
  for (const item of mergedInOrder([source()], (one, other) => one < other)) if (item === 2) break;
  expect(read).toEqual([1, 2]);
});

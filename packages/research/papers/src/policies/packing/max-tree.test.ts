import { Random } from '@goshawk/core';
import { expect, test } from 'vitest';
import { MaxTree } from './max-tree.js';

test.each([1, 2, 3])('finds the same index as a linear scan: seed %i', (seed) => {
  const random = Random.seeded(seed);
  const draw = (count: number) => Math.floor(random.next() * count);
  const tree = new MaxTree();
  const values: number[] = [];
  for (let step = 0; step < 4000; step++) {
    const index = draw(1 + Math.min(step, 300));
    const value = draw(12) - 1;
    tree.set(index, value);
    while (values.length <= index) values.push(-1);
    values[index] = value;
    const [from, wanted] = [draw(320), draw(12)];
    expect(tree.firstFrom(from, wanted)).toBe(values.findIndex((one, at) => at >= from && one >= wanted));
    expect(tree.largest()).toBe(Math.max(...values));
    expect(tree.at(from)).toBe(values[from] ?? -1);
  }
});

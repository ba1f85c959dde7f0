import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { RecencyMap } from './recency-map.js';

describe('a map with LRU eviction', () => {
  test('evicts the least recently used value', () => {
    const map = new RecencyMap<number>(2);
    map.add(10, 1);
    map.add(20, 2);
    expect(map.use(10)).toBe(1);
    map.add(30, 3);
    expect([...map]).toEqual([
      [10, 1],
      [30, 3],
    ]);
    expect(map.use(20)).toBeUndefined();
  });

  test('peeking does not count as use', () => {
    const map = new RecencyMap<number>(2);
    map.add(10, 1);
    map.add(20, 2);
    expect(map.peek(10)).toBe(1);
    map.add(30, 3);
    expect(map.peek(10)).toBeUndefined();
  });

  test('contains, in order of use, the same as a list that is scanned', () => {
    const keys = fc.array(fc.nat(4), { maxLength: 60 });
    fc.assert(
      fc.property(keys, fc.integer({ min: 1, max: 5 }), (used, sizeMax) => {
        const map = new RecencyMap<number>(sizeMax);
        let model: number[] = [];
        for (const key of used) {
          expect(map.use(key)).toBe(model.includes(key) ? key : undefined);
          if (!model.includes(key)) map.add(key, key);
          model = [...model.filter((other) => other !== key), key].slice(-sizeMax);
          expect(Array.from(map, ([held]) => held)).toEqual(model);
          expect([...map]).toHaveLength(model.length);
        }
      }),
    );
  });
});

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { RecencyMap } from './recency-map.js';

describe('a map that forgets', () => {
  test('lets go of what was not used for longest', () => {
    const map = new RecencyMap<number>(2);
    map.add('a', 1);
    map.add('b', 2);
    expect(map.use('a')).toBe(1);
    map.add('c', 3);
    expect([...map]).toEqual([
      ['a', 1],
      ['c', 3],
    ]);
    expect(map.use('b')).toBeUndefined();
  });

  test('a look is no use', () => {
    const map = new RecencyMap<number>(2);
    map.add('a', 1);
    map.add('b', 2);
    expect(map.peek('a')).toBe(1);
    map.add('c', 3);
    expect(map.peek('a')).toBeUndefined();
  });

  test('holds, in order of use, what a list that is searched from its start would hold', () => {
    const keys = fc.array(fc.constantFrom('a', 'b', 'c', 'd', 'e'), { maxLength: 60 });
    fc.assert(
      fc.property(keys, fc.integer({ min: 1, max: 5 }), (used, sizeMax) => {
        const map = new RecencyMap<string>(sizeMax);
        let model: string[] = [];
        for (const key of used) {
          expect(map.use(key)).toBe(model.includes(key) ? key : undefined);
          if (!model.includes(key)) map.add(key, key);
          model = [...model.filter((other) => other !== key), key].slice(-sizeMax);
          expect(Array.from(map, ([held]) => held)).toEqual(model);
          expect(map.size).toBe(model.length);
        }
      }),
    );
  });
});

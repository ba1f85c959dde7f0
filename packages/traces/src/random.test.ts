import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Random } from './random.js';

describe('Random', () => {
  it('gives the same numbers for the same seed, on every machine', () => {
    const random = new Random(1);
    expect([random.uint32(), random.uint32(), random.uint32()]).toEqual([1864779526, 3205081530, 538205153]);
  });

  it('gives other numbers for another seed, from the first on', () => {
    const first = Array.from({ length: 100 }, (_, seed) => new Random(seed).uint32());
    expect(new Set(first).size).toBe(100);
  });

  it('forks by label alone, whatever was drawn before', () => {
    const untouched = new Random(5);
    const used = new Random(5);
    used.uniform();
    used.normal();
    expect(used.fork('a').uint32()).toBe(untouched.fork('a').uint32());
    expect(used.fork('a').uint32()).not.toBe(used.fork('b').uint32());
    expect(used.fork('a').fork('b').uint32()).not.toBe(used.fork('ab').uint32());
  });

  it('draws uniform, exponential and normal numbers with their mean and deviation', () => {
    const random = new Random(7);
    const count = 200_000;
    const moments = (draw: () => number) => {
      let total = 0;
      let squares = 0;
      for (let i = 0; i < count; i++) {
        const value = draw();
        total += value;
        squares += value * value;
      }
      const mean = total / count;
      return { mean, deviation: Math.sqrt(squares / count - mean * mean) };
    };
    const uniform = moments(() => random.uniform());
    expect(uniform.mean).toBeCloseTo(0.5, 2);
    expect(uniform.deviation).toBeCloseTo(Math.sqrt(1 / 12), 2);
    const exponential = moments(() => random.exponential(3) / 3);
    expect(exponential.mean).toBeCloseTo(1, 1);
    expect(exponential.deviation).toBeCloseTo(1, 1);
    const normal = moments(() => random.normal());
    expect(normal.mean).toBeCloseTo(0, 1);
    expect(normal.deviation).toBeCloseTo(1, 1);
  });

  it('shuffles without losing anything', () => {
    fc.assert(
      fc.property(fc.array(fc.integer()), fc.integer({ min: 0 }), (items, seed) => {
        const shuffled = new Random(seed).shuffle([...items]);
        expect(shuffled.toSorted()).toEqual(items.toSorted());
      }),
    );
  });
});

import { describe, expect, test } from 'vitest';
import { drawIndex, Random } from './random.js';

describe('seeded random numbers', () => {
  test('equal seeds give equal streams, and different seeds different ones', () => {
    const draw = (seed: number | string) =>
      Array.from(
        { length: 5 },
        (
          (r) => () =>
            r.next()
        )(Random.seeded(seed)),
      );
    expect(draw(7)).toEqual(draw('7'));
    expect(draw(7)).not.toEqual(draw(8));
  });

  test('a fork depends only on its label, and does not advance its parent', () => {
    const parent = Random.seeded(1);
    const before = parent.fork('a').next();
    expect(parent.fork('a').next()).toBe(before);
    expect(parent.fork('b').next()).not.toBe(before);
    const untouched = Random.seeded(1);
    expect(parent.next()).toBe(untouched.next());
  });

  test('indices are spread evenly', () => {
    const random = Random.seeded('even');
    const counts = new Array<number>(10).fill(0);
    for (let i = 0; i < 100_000; i++) counts[drawIndex({ random: () => random.next() }, 10)]!++;
    // Binomial(100,000, 0.1) has a standard deviation of 95, so more than five of them are practically
    // impossible.
    for (const count of counts) expect(Math.abs(count - 10_000)).toBeLessThan(475);
  });
});

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { rendezvous } from './rendezvous.js';

const named = (...names: string[]) => names.map((name) => ({ name }));
const keys = Array.from({ length: 20_000 }, (_, index) => `key-${index}`);
const names = fc.uniqueArray(fc.string({ minLength: 1, maxLength: 12 }), { minLength: 2, maxLength: 12 });

describe('rendezvous hashing', () => {
  test('gives each of ten similar names a tenth of the keys, within a tenth', () => {
    const among = named(...Array.from({ length: 10 }, (_, index) => `s${index}`));
    const counts = new Map<string, number>();
    for (const key of keys) {
      const { name } = rendezvous(key, among)!;
      counts.set(name, (counts.get(name) ?? 0) + 1);
    }
    expect([...counts.values()].filter((count) => Math.abs(count - 2_000) > 200)).toEqual([]);
    expect(counts.size).toBe(10);
  });

  test('moves only the keys of a name that leaves, and spreads them over all others', () => {
    const before = named('s0', 's1', 's2', 's3');
    const after = named('s0', 's1', 's3');
    const heirs = new Set<string>();
    for (const key of keys) {
      const was = rendezvous(key, before)!.name;
      const is = rendezvous(key, after)!.name;
      if (was === 's2') heirs.add(is);
      else expect(is).toBe(was);
    }
    expect([...heirs].sort()).toEqual(['s0', 's1', 's3']);
  });

  test('does not depend on the order of the names', () => {
    fc.assert(
      fc.property(fc.string(), names, (key, some) => {
        expect(rendezvous(key, named(...some.toReversed()))).toEqual(rendezvous(key, named(...some)));
      }),
    );
  });

  test('an excluded name counts as absent', () => {
    fc.assert(
      fc.property(fc.string(), names, (key, [gone = '', ...others]) => {
        expect(rendezvous(key, named(gone, ...others), new Set([gone]))).toEqual(
          rendezvous(key, named(...others)),
        );
      }),
    );
  });

  test('finds nothing in an empty list', () => {
    expect(rendezvous('key', [])).toBeUndefined();
    expect(rendezvous('key', named('a'), new Set(['a']))).toBeUndefined();
  });

  test('is the same in every version, because all clients must agree', () => {
    const among = named('s0', 's1', 's2', 's3', 's4');
    expect(['a', 'b', 'c', 'd', 'e', 'f'].map((key) => rendezvous(key, among)!.name)).toMatchInlineSnapshot(`
      [
        "s4",
        "s1",
        "s0",
        "s4",
        "s1",
        "s4",
      ]
    `);
  });
});

import fc from 'fast-check';
import { expect, test } from 'vitest';
import { AddressSet } from './address-set.js';
import type { Address } from './ids.js';

test('holds what a Set would, however high the addresses are', () => {
  const address = fc.integer({ min: 0, max: 1_000 });
  fc.assert(
    fc.property(fc.array(fc.tuple(fc.boolean(), address)), (steps) => {
      const set = new AddressSet();
      const model = new Set<number>();
      for (const [adds, it] of steps) {
        if (adds) {
          set.add(it as Address);
          model.add(it);
        } else {
          set.delete(it as Address);
          model.delete(it);
        }
      }
      for (let it = -2; it <= 1_001; it++) expect(set.has(it as Address)).toBe(model.has(it));
    }),
  );
});

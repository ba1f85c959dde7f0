import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Address } from '../ids.js';
import { AddressNumbers } from './address-numbers.js';

test('a column of addresses returns the last value set, and 0 by default', () => {
  fc.assert(
    // Covers numbers of every width.
    fc.property(fc.array(fc.tuple(fc.nat(500), fc.oneof(fc.nat(9), fc.nat(), fc.maxSafeNat()))), (pairs) => {
      const column = new AddressNumbers();
      const model = new Map<number, number>();
      for (const [address, number] of pairs) {
        column.set(address as Address, number);
        model.set(address, number);
      }
      for (let address = 0; address < 1_100; address++)
        expect(column.get(address as Address)).toBe(model.get(address) ?? 0);
    }),
  );
});

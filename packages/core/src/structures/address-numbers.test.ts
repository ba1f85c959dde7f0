import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Address } from '../ids.js';
import { AddressNumbers, AddressSet } from './address-numbers.js';

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
      expect([...column.values()].sort()).toEqual(
        [...model.values()].filter((number) => number !== 0).sort(),
      );
    }),
  );
});

test('a set of addresses has those that were added and not deleted, also placeholders and high ones', () => {
  const address = fc.oneof(fc.integer({ min: -40, max: 5_000 }), fc.integer({ min: 131_000, max: 131_200 }));
  fc.assert(
    fc.property(fc.array(fc.tuple(fc.boolean(), address)), (steps) => {
      const set = new AddressSet();
      const model = new Set<number>();
      for (const [isAdded, of] of steps) {
        if (isAdded) set.add(of as Address);
        else set.delete(of as Address);
        if (isAdded) model.add(of);
        else model.delete(of);
      }
      for (const [, of] of steps)
        for (const each of [of, of + 1, of - 32, of + 32])
          expect(set.has(each as Address)).toBe(model.has(each));
    }),
  );
});

import fc from 'fast-check';
import { expect, test } from 'vitest';
import { RowIndex } from './row-index.js';

test('finds the rows of each hash after any additions and removals', () => {
  const hashes = fc.array(fc.integer({ min: 0, max: 2 ** 32 - 1 }), { minLength: 1, maxLength: 4 });
  const steps = fc.array(fc.nat(15), { maxLength: 60 });
  fc.assert(
    fc.property(hashes, steps, (some, toggled) => {
      const hashOf = (row: number) => some[row % some.length]!;
      const index = new RowIndex(32, hashOf);
      const rows = new Set<number>();
      for (const row of toggled) {
        if (rows.delete(row)) index.remove(row);
        else {
          rows.add(row);
          index.add(row);
        }
        for (const hash of some) {
          const found = [...index.rowsOf(hash)].sort((one, other) => one - other);
          const expected = [...rows].filter((each) => hashOf(each) === hash);
          expect(found).toEqual(expected.sort((one, other) => one - other));
        }
      }
    }),
  );
});

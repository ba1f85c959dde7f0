import fc from 'fast-check';
import { expect, test } from 'vitest';
import { IndexedHeap } from './indexed-heap.js';

test('the top always has the smallest (key, id), after any operations', () => {
  const operation = fc.record({ id: fc.nat(20), key: fc.option(fc.nat(5), { nil: undefined }) });
  fc.assert(
    fc.property(fc.array(operation, { maxLength: 200, size: 'max' }), (operations) => {
      const heap = new IndexedHeap();
      const model = new Map<number, number>();
      for (const { id, key } of operations) {
        if (key === undefined) expect(heap.delete(id)).toBe(model.delete(id));
        else {
          heap.set(id, key);
          model.set(id, key);
        }
        const least = [...model].sort(([a, x], [b, y]) => x - y || a - b)[0];
        expect(heap.top()).toBe(least?.[0] ?? -1);
        expect(heap.topKey()).toBe(least?.[1] ?? Number.POSITIVE_INFINITY);
        expect(heap.size).toBe(model.size);
        expect(heap.keyOf(id)).toBe(model.get(id));
      }
    }),
  );
});

test('the lowest rank breaks ties between equal keys', () => {
  const operation = fc.record({ id: fc.nat(9), key: fc.option(fc.nat(2), { nil: undefined }) });
  fc.assert(
    fc.property(fc.array(operation, { maxLength: 100, size: 'max' }), (operations) => {
      const ranks: number[] = [];
      const heap = new IndexedHeap(ranks);
      const model = new Map<number, number>();
      let added = 0;
      for (const { id, key } of operations) {
        if (key === undefined) {
          heap.delete(id);
          model.delete(id);
          continue;
        }
        if (!model.has(id)) ranks[id] = added++;
        heap.set(id, key);
        model.set(id, key);
        const ordered = [...model].sort(([a, x], [b, y]) => x - y || ranks[a]! - ranks[b]!).map(([of]) => of);
        expect(heap.top()).toBe(ordered[0]);
        for (const other of ordered) {
          if (other !== id)
            expect(heap.isBefore(id, other)).toBe(ordered.indexOf(id) < ordered.indexOf(other));
        }
      }
    }),
  );
});

test('all ids are listed in the order of their keys, and stay', () => {
  fc.assert(
    fc.property(fc.array(fc.nat(50)), (keys) => {
      const heap = new IndexedHeap();
      for (const [id, key] of keys.entries()) heap.set(id, key);
      expect([...heap.inOrder()].map((id) => keys[id])).toEqual([...keys].sort((one, other) => one - other));
      expect(heap.size).toBe(keys.length);
    }),
  );
});

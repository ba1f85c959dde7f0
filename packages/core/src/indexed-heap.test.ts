import fc from 'fast-check';
import { expect, test } from 'vitest';
import { IndexedHeap } from './indexed-heap.js';

test('the top is always the least (key, id), whatever was set, moved or deleted', () => {
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

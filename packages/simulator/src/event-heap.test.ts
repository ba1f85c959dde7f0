import fc from 'fast-check';
import { expect, test } from 'vitest';
import { EventHeap } from './event-heap.js';

test('events are ordered by time, and by insertion among equal times', () => {
  const operation = fc.option(fc.nat(20), { nil: undefined });
  fc.assert(
    fc.property(fc.array(operation, { maxLength: 3_000, size: 'max' }), (operations) => {
      const heap = new EventHeap();
      const model: { time: number; id: number }[] = [];
      let id = 0;
      for (const time of operations) {
        if (time !== undefined) {
          heap.push(time, id, 1, id, 0, 0, { id });
          model.push({ time, id: id++ });
          continue;
        }
        if (heap.size === 0) continue;
        model.sort((a, b) => a.time - b.time || a.id - b.id);
        const expected = model.shift()!;
        expect(heap.nextTime).toBe(expected.time);
        const row = heap.pop();
        expect(heap.targets[row]).toBe(expected.id);
        expect(heap.refs[row]).toEqual({ id: expected.id });
        heap.release(row);
      }
      expect(heap.size).toBe(model.length);
    }),
    { numRuns: 50 },
  );
});

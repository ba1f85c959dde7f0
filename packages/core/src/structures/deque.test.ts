import fc from 'fast-check';
import { expect, test } from 'vitest';
import { Deque } from './deque.js';

test('a deque behaves like an array under any sequence of operations', () => {
  const operation = fc.oneof(
    fc.record({ kind: fc.constant('push' as const), value: fc.nat(9) }),
    fc.record({ kind: fc.constant('shift' as const) }),
  );
  fc.assert(
    fc.property(fc.array(operation, { maxLength: 300, size: 'max' }), (operations) => {
      const deque = new Deque<number>();
      const model: number[] = [];
      for (const op of operations) {
        if (op.kind === 'push') {
          deque.push(op.value);
          model.push(op.value);
        } else {
          expect(deque.shift()).toBe(model.shift());
        }
        expect([...deque]).toEqual(model);
        expect(deque.length).toBe(model.length);
        expect(deque.at(0)).toBe(model[0]);
      }
    }),
  );
});

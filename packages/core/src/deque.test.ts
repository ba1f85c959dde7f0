import fc from 'fast-check';
import { expect, test } from 'vitest';
import { Deque } from './deque.js';

test('a deque behaves like an array under any sequence of operations', () => {
  const operation = fc.oneof(
    fc.record({ kind: fc.constant('push' as const), value: fc.nat(9) }),
    fc.record({ kind: fc.constant('insert' as const), index: fc.nat(5), value: fc.nat(9) }),
    fc.record({ kind: fc.constant('shift' as const) }),
    fc.record({ kind: fc.constant('cut' as const), index: fc.nat(5), count: fc.nat(3) }),
    fc.record({ kind: fc.constant('remove' as const), value: fc.nat(9) }),
  );
  fc.assert(
    fc.property(fc.array(operation, { maxLength: 300, size: 'max' }), (operations) => {
      const deque = new Deque<number>();
      let model: number[] = [];
      for (const op of operations) {
        if (op.kind === 'push') {
          deque.push(op.value);
          model.push(op.value);
        } else if (op.kind === 'insert') {
          const index = Math.min(op.index, model.length);
          deque.insert(index, op.value);
          model.splice(index, 0, op.value);
        } else if (op.kind === 'shift') {
          expect(deque.shift()).toBe(model.shift());
        } else if (op.kind === 'cut') {
          expect(deque.cut(op.index, op.count)).toEqual(model.splice(op.index, op.count));
        } else {
          expect(deque.removeWhere((item) => item === op.value)).toEqual(model.filter((i) => i === op.value));
          model = model.filter((item) => item !== op.value);
        }
        expect([...deque]).toEqual(model);
        expect(deque.length).toBe(model.length);
        expect(deque.at(0)).toBe(model[0]);
      }
    }),
  );
});

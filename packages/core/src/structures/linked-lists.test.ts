import fc from 'fast-check';
import { expect, test } from 'vitest';
import { LinkedLists } from './linked-lists.js';

const operation = fc.record({
  kind: fc.constantFrom('push', 'insert', 'shift', 'cut', 'remove', 'removeSome', 'add'),
  list: fc.nat(9),
  value: fc.nat(9),
  count: fc.nat(3),
});

test('each list behaves like an array under any sequence of operations on all of them', () => {
  fc.assert(
    fc.property(fc.array(operation, { maxLength: 300, size: 'max' }), (operations) => {
      const lists = new LinkedLists<{ readonly value: number }>();
      const valuesOf = (items: Iterable<{ value: number }>) => Array.from(items, ({ value }) => value);
      const models: number[][] = [[]];
      expect(lists.add(1)).toBe(0);
      const check = (list: number): void => {
        const model = models[list]!;
        expect(valuesOf(lists.items(list))).toEqual(model);
        expect(lists.first(list)?.value).toBe(model[0]);
        expect(lists.isEmpty(list)).toBe(model.length === 0);
        expect(lists.length(list)).toBe(model.length);
      };
      for (const { kind, list: which, value, count } of operations) {
        const list = which % models.length;
        const model = models[list]!;
        const takeOut = (wanted: readonly number[]): void => {
          for (const each of wanted) model.splice(model.indexOf(each), 1);
        };
        if (kind === 'add') {
          expect(lists.add(count)).toBe(models.length);
          for (let i = 0; i < count; i++) models.push([]);
        } else if (kind === 'push') {
          lists.push(list, { value });
          model.push(value);
        } else if (kind === 'insert') {
          lists.insert(list, { value }, (other) => other.value <= value);
          model.splice(model.findLastIndex((other) => other <= value) + 1, 0, value);
        } else if (kind === 'shift') {
          expect(lists.shift(list)?.value).toBe(model.shift());
        } else if (kind === 'cut') {
          const isBefore = (item: { value: number }) => item.value < value;
          const taken = lists.takeRun(list, isBefore, (item) => !isBefore(item), count);
          const start = model.findIndex((other) => other >= value);
          const behind = start < 0 ? [] : model.slice(start, start + count);
          const end = behind.findIndex((other) => other < value);
          const expected = end < 0 ? behind : behind.slice(0, end);
          expect(valuesOf(taken)).toEqual(expected);
          if (expected.length > 0) model.splice(start, expected.length);
        } else {
          const limit = kind === 'remove' ? undefined : count;
          const expected = model.filter((other) => other === value).slice(0, limit);
          const removed = lists.removeWhere(list, (item) => item.value === value, limit);
          expect(valuesOf(removed)).toEqual(expected);
          takeOut(expected);
        }
        check(list);
      }
      for (const list of models.keys()) check(list);
    }),
    { numRuns: 50 },
  );
});

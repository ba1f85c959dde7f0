import { type Address, NO_RESOURCES } from '@goshawk/core';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Entry } from './entry.js';
import { EntryLists, LISTS_EACH } from './entry-lists.js';

function entry(stage: number): Entry {
  const placed = undefined;
  const job = { owner: 1 as Address, job: 1, stage, long: false, demand: NO_RESOURCES, placed };
  return { ...job, lane: 'normal', estimateMs: 0, sizeMs: 0, since: 0 };
}

const stages = (entries: Iterable<Entry>): number[] => Array.from(entries, ({ stage }) => stage);

/** Entries are told apart by their stage. */
const operation = fc.record({
  kind: fc.constantFrom('push', 'insert', 'shift', 'cut', 'remove', 'queue'),
  queue: fc.nat(9),
  lane: fc.nat(LISTS_EACH - 1),
  value: fc.nat(9),
  count: fc.nat(3),
});

test('each list behaves like an array under any sequence of operations on all of them', () => {
  fc.assert(
    fc.property(fc.array(operation, { maxLength: 300, size: 'max' }), (operations) => {
      const lists = new EntryLists();
      const models: number[][] = [];
      const addQueue = (): void => {
        expect(LISTS_EACH * lists.addQueue()).toBe(models.length);
        for (let lane = 0; lane < LISTS_EACH; lane++) models.push([]);
      };
      addQueue();
      for (const { kind, queue, lane, value, count } of operations) {
        const number = queue % (models.length / LISTS_EACH);
        const model = models[LISTS_EACH * number + lane]!;
        if (kind === 'queue') {
          addQueue();
        } else if (kind === 'push') {
          lists.push(number, lane, entry(value));
          model.push(value);
        } else if (kind === 'insert') {
          lists.insert(number, lane, entry(value), ({ stage }) => stage <= value);
          model.splice(model.findLastIndex((stage) => stage <= value) + 1, 0, value);
        } else if (kind === 'shift') {
          expect(lists.shift(number, lane)?.stage).toBe(model.shift());
        } else if (kind === 'cut') {
          const isBefore = ({ stage }: Entry) => stage < value;
          const taken = lists.takeRun(number, lane, isBefore, (other) => !isBefore(other), count);
          const start = model.findIndex((stage) => stage >= value);
          const behind = start < 0 ? [] : model.slice(start, start + count);
          const end = behind.findIndex((stage) => stage < value);
          const expected = end < 0 ? behind : behind.slice(0, end);
          expect(stages(taken)).toEqual(expected);
          if (expected.length > 0) model.splice(start, expected.length);
        } else {
          const removed = lists.removeWhere(number, lane, ({ stage }) => stage === value);
          expect(stages(removed)).toEqual(model.filter((stage) => stage === value));
          models[LISTS_EACH * number + lane] = model.filter((stage) => stage !== value);
        }
        models.forEach((each, it) => {
          const [of, list] = [Math.floor(it / LISTS_EACH), it % LISTS_EACH];
          expect(stages(lists.entriesOf(of, list))).toEqual(each);
          expect(lists.first(of, list)?.stage).toBe(each[0]);
          expect(lists.isEmpty(of, list)).toBe(each.length === 0);
        });
        for (let it = 0; it < models.length / LISTS_EACH; it++) {
          const own = models.slice(LISTS_EACH * it, LISTS_EACH * (it + 1));
          expect(lists.waiting(it)).toBe(own.flat().length);
        }
      }
    }),
    { numRuns: 50 },
  );
});

import { JOB_STATES } from '@goshawk/core';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type Tombstone, Tombstones } from './tombstones.js';

function tombstone(number: number, fields: Partial<Tombstone> = {}): Tombstone {
  const rest = { key: `k${number}`, user: undefined, state: 'completed', bytes: 100 } as const;
  return { number, ...rest, endedAt: number, ...fields };
}

const step = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({
      number: fc.integer({ min: 1, max: 1e15 }),
      // Few, so that some collide.
      key: fc.option(fc.integer({ min: 0, max: 20 }).map(String), { nil: undefined }),
      user: fc.constantFrom(undefined, 'ada', 'bob'),
      state: fc.constantFrom(...JOB_STATES),
      endedAt: fc.integer({ min: 0, max: 1_000 }),
      bytes: fc.integer({ min: 0, max: 1_000_000 }),
    }),
  },
  { weight: 1, arbitrary: fc.constant('shift' as const) },
  // The position, in millionths.
  { weight: 1, arbitrary: fc.nat(999_999) },
);

describe('tombstones', () => {
  test.each([true, false])('are returned in order of insertion (keys are kept: %s)', (keepsKeys) => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 600 }), (steps) => {
        const tombstones = new Tombstones(keepsKeys, () => 0.3);
        let model: Tombstone[] = [];
        const seen = (of: Tombstone | undefined) => of && { ...of, key: keepsKeys ? of.key : undefined };
        for (const [index, each] of steps.entries()) {
          if (typeof each === 'number') {
            const at = Math.floor((each * model.length) / 1e6);
            tombstones.remove(model[at]?.number ?? 7);
            model.splice(at, 1);
          } else if (each !== 'shift') {
            if (model.some(({ number }) => number === each.number)) continue;
            tombstones.push(each);
            model.push(each);
          } else if (model.length > 0) {
            tombstones.shift();
            model.shift();
          }
          expect([tombstones.length, tombstones.first]).toEqual([model.length, seen(model[0])]);
          if (index % 50 !== 49) continue;
          if (index % 100 === 99) {
            tombstones.sort();
            model = model.toSorted((a, b) => a.endedAt - b.endedAt);
          }
          for (const of of model) {
            expect(tombstones.byNumber(of.number)).toEqual(seen(of));
            if (of.key === undefined) continue;
            const alike = model.filter(({ key }) => key === of.key).map(seen);
            expect(new Set(tombstones.withKey(of.key))).toEqual(new Set(alike));
          }
          expect(tombstones.byNumber(2e15)).toBeUndefined();
          expect([...tombstones.withKey('21')]).toEqual([]);
          const theirs = model.filter(({ user }) => user === 'ada').reverse();
          const found = [...tombstones.newestFirst(JOB_STATES)].filter(({ user }) => user === 'ada');
          expect(found).toEqual(theirs.map(seen));
          const failed = model.filter(({ state }) => state === 'failed').reverse();
          expect([...tombstones.newestFirst(['failed'])]).toEqual(failed.map(seen));
          expect(tombstones.count('failed')).toBe(failed.length);
        }
        while (tombstones.length > 0) tombstones.shift();
        expect(tombstones.bytes).toBe(0);
      }),
      { numRuns: 100 },
    );
  });

  test('of a million jobs take little memory, can be looked up, and are evicted in order of their ends', () => {
    const count = 1_000_000;
    const tombstones = new Tombstones(false, () => 0.3);
    for (let number = 1; number <= count; number++) tombstones.push(tombstone(number));
    expect(tombstones.bytes).toBeLessThan(100 * count);
    for (const number of [1, 2, 500_000, count]) {
      expect(tombstones.byNumber(number)).toEqual({ ...tombstone(number), key: undefined });
      expect([...tombstones.withKey(`k${number}`)].map((found) => found.number)).toContain(number);
    }
    let inOrder = 0;
    for (let number = 1; number < count; number++) {
      if (tombstones.first!.number === number) inOrder++;
      tombstones.shift();
    }
    expect(inOrder).toBe(count - 1);
    expect(tombstones.byNumber(count)).toBeDefined();
    expect(tombstones.byNumber(1)).toBeUndefined();
  });

  test('of retried jobs are removed without a scan of the others', () => {
    const count = 200_000;
    const tombstones = new Tombstones(false, () => 0.3);
    for (let number = 1; number <= count; number++) tombstones.push(tombstone(number));
    for (let number = 2; number <= count; number += 2) tombstones.remove(number);
    expect([tombstones.length, tombstones.byNumber(2)]).toEqual([count / 2, undefined]);
    const numbers = Array.from(tombstones.newestFirst(['completed']), (each) => each.number);
    expect(numbers).toEqual(Array.from({ length: count / 2 }, (_, index) => count - 1 - 2 * index));
  });

  test('of very many users keep each name', () => {
    const tombstones = new Tombstones(true, () => 0.3);
    for (let number = 1; number <= 3_000; number++)
      tombstones.push(tombstone(number, { user: `u${number % 1_500}` }));
    for (const number of [1, 1_499, 2_999])
      expect(tombstones.byNumber(number)!.user).toBe(`u${number % 1_500}`);
  });
});

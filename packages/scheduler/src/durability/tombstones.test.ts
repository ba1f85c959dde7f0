import { JOB_STATES } from '@goshawk/core';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type Tombstone, type TombstoneKind, Tombstones } from './tombstones.js';

function tombstone(number: number, fields: Partial<Tombstone> = {}): Tombstone {
  const rest = { kind: 'archived', key: `k${number}`, user: undefined, state: 'completed' } as const;
  return { number, ...rest, bytes: 100, endedAt: number, ...fields };
}

const KINDS = ['archived', 'evicted'] as const;

const step = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({
      number: fc.integer({ min: 1, max: 1e15 }),
      kind: fc.constantFrom(...KINDS),
      // Few, so that some collide.
      key: fc.option(fc.integer({ min: 0, max: 20 }).map(String), { nil: undefined }),
      user: fc.constantFrom(undefined, 'ada', 'bob'),
      state: fc.constantFrom(...JOB_STATES),
      endedAt: fc.integer({ min: 0, max: 1_000 }),
      bytes: fc.integer({ min: 0, max: 1_000_000 }),
    }),
  },
  // Removes the first of the kind.
  { weight: 1, arbitrary: fc.constantFrom(...KINDS) },
  // The position, in millionths.
  { weight: 1, arbitrary: fc.nat(999_999) },
);

/** The tombstone as it is returned: of keys of archived jobs, only hashes are stored. */
function seen(of: Tombstone | undefined): Tombstone | undefined {
  return of && { ...of, key: of.kind === 'evicted' ? of.key : undefined };
}

describe('tombstones', () => {
  test('are returned in order of insertion, also by kind', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 600 }), (steps) => {
        const tombstones = new Tombstones(() => 0.3);
        let model: Tombstone[] = [];
        const ofKind = (of: TombstoneKind) => model.filter(({ kind }) => kind === of);
        for (const [index, each] of steps.entries()) {
          if (typeof each === 'number') {
            const at = Math.floor((each * model.length) / 1e6);
            tombstones.remove(model[at]?.number ?? 7);
            model.splice(at, 1);
          } else if (typeof each === 'object') {
            if (model.some(({ number }) => number === each.number)) continue;
            tombstones.push(each);
            model.push(each);
          } else {
            const first = tombstones.first(each);
            if (first !== undefined) tombstones.remove(first.number);
            model = model.filter((of) => of !== ofKind(each)[0]);
          }
          for (const kind of KINDS) {
            const [first] = ofKind(kind);
            expect([tombstones.lengthOf(kind), tombstones.first(kind)]).toEqual([
              ofKind(kind).length,
              seen(first),
            ]);
          }
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
          const archived = ofKind('archived').reverse();
          const theirs = archived.filter(({ user }) => user === 'ada');
          const found = [...tombstones.newestFirst(JOB_STATES)].filter(({ user }) => user === 'ada');
          expect(found).toEqual(theirs.map(seen));
          const failed = archived.filter(({ state }) => state === 'failed');
          expect([...tombstones.newestFirst(['failed'])]).toEqual(failed.map(seen));
          expect(tombstones.count('failed')).toBe(failed.length);
        }
        for (const { number } of model) tombstones.remove(number);
        expect([...KINDS.map((kind) => tombstones.lengthOf(kind)), tombstones.bytes]).toEqual([0, 0, 0]);
      }),
      { numRuns: 100 },
    );
  });

  test('of a million jobs take little memory, can be looked up, and are evicted in order of their ends', () => {
    const count = 1_000_000;
    const tombstones = new Tombstones(() => 0.3);
    for (let number = 1; number <= count; number++) tombstones.push(tombstone(number));
    expect(tombstones.bytes).toBeLessThan(100 * count);
    for (const number of [1, 2, 500_000, count]) {
      expect(tombstones.byNumber(number)).toEqual({ ...tombstone(number), key: undefined });
      expect([...tombstones.withKey(`k${number}`)].map((found) => found.number)).toContain(number);
    }
    let inOrder = 0;
    for (let number = 1; number < count; number++) {
      if (tombstones.first('archived')!.number === number) inOrder++;
      tombstones.remove(number);
    }
    expect(inOrder).toBe(count - 1);
    expect(tombstones.byNumber(count)).toBeDefined();
    expect(tombstones.byNumber(1)).toBeUndefined();
  });

  test('of retried jobs are removed without a scan of the others', () => {
    const count = 200_000;
    const tombstones = new Tombstones(() => 0.3);
    for (let number = 1; number <= count; number++) tombstones.push(tombstone(number));
    for (let number = 2; number <= count; number += 2) tombstones.remove(number);
    expect([tombstones.lengthOf('archived'), tombstones.byNumber(2)]).toEqual([count / 2, undefined]);
    const numbers = Array.from(tombstones.newestFirst(['completed']), (each) => each.number);
    expect(numbers).toEqual(Array.from({ length: count / 2 }, (_, index) => count - 1 - 2 * index));
  });

  test('of evicted jobs expire without a scan of the archived ones before them', () => {
    const count = 200_000;
    const tombstones = new Tombstones(() => 0.3);
    for (let number = 1; number <= count; number++) tombstones.push(tombstone(number));
    const evicted: number[] = [];
    for (let number = count + 1; number <= 2 * count; number++) {
      tombstones.push(tombstone(number, { kind: 'evicted' }));
      const { number: first } = tombstones.first('evicted')!;
      evicted.push(first);
      tombstones.remove(first);
    }
    expect(evicted).toEqual(Array.from({ length: count }, (_, index) => count + 1 + index));
    expect(tombstones.lengthOf('archived')).toBe(count);
  });

  test('of very many users keep each name', () => {
    const tombstones = new Tombstones(() => 0.3);
    for (let number = 1; number <= 3_000; number++)
      tombstones.push(tombstone(number, { user: `u${number % 1_500}` }));
    for (const number of [1, 1_499, 2_999])
      expect(tombstones.byNumber(number)!.user).toBe(`u${number % 1_500}`);
  });
});

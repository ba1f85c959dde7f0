import {
  type Address,
  couldFit,
  isDrained,
  type Member,
  type MessageOf,
  NO_RESOURCES,
  Random,
  type Resources,
  type Scope,
  whyTooLarge,
} from '@goshawk/core';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { Members } from './members.js';

const NO_REQUIREMENTS = { demand: NO_RESOURCES };

function member(address: number, fields: Partial<Member> = {}): Member {
  return {
    address: address as Address,
    name: `w${address}`,
    slots: 1,
    capacity: {},
    partition: 'general',
    draining: false,
    row: address,
    attributes: [],
    ...fields,
  };
}

function membersMessage(
  version: number,
  since: number,
  changed: readonly Member[],
  left: readonly number[] = [],
): MessageOf<'members'> {
  return {
    type: 'members',
    version,
    since,
    changed,
    left: left as Address[],
    owners: [],
    ownersVersion: 0,
    silentMs: undefined,
  };
}

function membersOf(...list: Member[]): Members {
  const members = new Members();
  members.apply(membersMessage(1, 0, list));
  return members;
}

function draw(members: Members, scope: Scope, count: number, random: Random, demand = NO_RESOURCES) {
  const drawn = new Map<Address, number>();
  const what = { how: 'distinct', scope, needs: { demand }, count } as const;
  members.draw(what, { random: () => random.next() }, (to) => drawn.set(to, (drawn.get(to) ?? 0) + 1));
  return drawn;
}

test('a demand is drained when each worker that has room for it drains', () => {
  const gpu = { gpu: 1 };
  const members = membersOf(
    member(1, { capacity: gpu, draining: true }),
    member(2, { partition: 'short' }),
    member(3, { draining: true }),
  );
  expect(isDrained(members, 'all', { demand: gpu })).toBe(true);
  expect(isDrained(members, 'general', NO_REQUIREMENTS)).toBe(true);
  expect(isDrained(members, 'all', NO_REQUIREMENTS)).toBe(false);
  // No worker has it, so draining is not the reason.
  expect(isDrained(members, 'all', { demand: { gpu: 2 } })).toBe(false);
});

describe('a draw of places for probes', () => {
  const worker = fc.record({
    slots: fc.integer({ min: 1, max: 4 }),
    partition: fc.constantFrom('general' as const, 'short' as const),
    draining: fc.boolean(),
    memory: fc.nat(8),
  });

  test('that is independent may pick a worker twice, and is uniform over workers', () => {
    const members = membersOf(...Array.from({ length: 10 }, (_, i) => member(i)));
    const random = Random.seeded('independent');
    const counts = new Map<Address, number>();
    const source = { random: () => random.next() };
    for (let round = 0; round < 1_000; round++) {
      members.draw({ how: 'independent', scope: 'all', needs: NO_REQUIREMENTS, count: 10 }, source, (to) => {
        counts.set(to, (counts.get(to) ?? 0) + 1);
      });
    }
    // Ten distinct ones would be exactly 1,000 each.
    for (const count of counts.values()) expect(Math.abs(count - 1_000)).toBeLessThan(150);
    expect(new Set(counts.values()).size).toBeGreaterThan(1);
  });

  test('gives each eligible slot ⌊probes ÷ slots⌋ or one more, and other slots none', () => {
    fc.assert(
      fc.property(
        fc.array(worker, { maxLength: 30 }),
        fc.constantFrom('all' as const, 'general' as const, 'short' as const),
        fc.nat(8),
        fc.array(fc.nat(200), { minLength: 1, maxLength: 5 }),
        fc.string(),
        (workers, scope, memory, counts, seed) => {
          const list = workers.map(({ memory: has, ...fields }, i) =>
            member(i, { ...fields, capacity: { memory: has } }),
          );
          const members = membersOf(...list);
          const random = Random.seeded(seed);
          const demand: Resources = memory === 0 ? NO_RESOURCES : { memory };
          const reach = list.length === 1 ? 'all' : scope;
          const eligible = list.filter(
            ({ draining, partition, capacity }) =>
              !draining && (reach === 'all' || partition === reach) && capacity.memory! >= memory,
          );
          const slots = eligible.reduce((sum, { slots }) => sum + slots, 0);
          // Repeated draws from the same pool, which each draw shuffles.
          for (const count of counts) {
            const drawn = draw(members, scope, count, random, demand);
            const total = [...drawn.values()].reduce((sum, probes) => sum + probes, 0);
            expect(total).toBe(slots === 0 ? 0 : count);
            const rounds = slots === 0 ? 0 : Math.floor(count / slots);
            for (const { address, slots: own } of eligible) {
              const probes = drawn.get(address) ?? 0;
              expect(probes).toBeGreaterThanOrEqual(rounds * own);
              expect(probes).toBeLessThanOrEqual((rounds + 1) * own);
              drawn.delete(address);
            }
            expect([...drawn]).toEqual([]);
          }
        },
      ),
      { numRuns: 500 },
    );
  });

  test('sends no probe of a plain task to a worker with less than one CPU', () => {
    const members = membersOf(member(1, { capacity: { cpu: 0.5 } }), member(2, { capacity: { cpu: 4 } }));
    expect(draw(members, 'all', 10, Random.seeded('half a CPU'))).toEqual(new Map([[2, 10]]));
  });

  test('uses a single worker for both partitions until there is another', () => {
    const members = membersOf(member(1));
    const random = Random.seeded('alone');
    expect(draw(members, 'short', 2, random)).toEqual(new Map([[1, 2]]));
    expect(couldFit(members, 'short', NO_REQUIREMENTS)).toBe(true);
    expect(members.mayProbe(1 as Address, 'short', NO_REQUIREMENTS)).toBe(true);
    members.apply(membersMessage(2, 1, [member(2, { partition: 'short' })]));
    expect(draw(members, 'short', 2, random)).toEqual(new Map([[2, 2]]));
    expect(members.mayProbe(1 as Address, 'short', NO_REQUIREMENTS)).toBe(false);
    members.apply(membersMessage(3, 2, [member(2, { partition: 'short', draining: true })]));
    expect(draw(members, 'short', 2, random).size).toBe(0);
    members.apply(membersMessage(4, 3, [], [2]));
    expect(draw(members, 'short', 2, random)).toEqual(new Map([[1, 2]]));
  });

  test('is uniform over slots, whatever was drawn before', () => {
    const members = membersOf(...[0, 1, 2, 3, 4, 5, 6, 7].map((i) => member(i)), member(8, { slots: 2 }));
    const random = Random.seeded('uniform');
    const counts = new Map<Address, number>();
    const rounds = 10_000;
    for (let i = 0; i < rounds; i++) {
      for (const [to, probes] of draw(members, 'all', 3, random))
        counts.set(to, (counts.get(to) ?? 0) + probes);
    }
    // 3 of 10 slots each time. Standard deviation: sqrt(rounds · 0.3 · 0.7) = 46.
    for (let i = 0; i < 8; i++) {
      expect(Math.abs(counts.get(i as Address)! - rounds * 0.3)).toBeLessThan(5 * 46);
    }
    expect(Math.abs(counts.get(8 as Address)! - rounds * 0.6)).toBeLessThan(5 * 65);
  });
});

describe('a draw of places for probes that avoids the occupied', () => {
  const byPlace = (occupied: readonly number[]) => {
    const bits = new Uint8Array(2);
    for (const row of occupied) bits[row >> 3]! |= 1 << (row & 7);
    return bits;
  };

  test('uses occupied workers only after all others, and none twice before', () => {
    fc.assert(
      fc.property(
        fc.uniqueArray(fc.nat(15)),
        fc.array(fc.nat(16), { minLength: 1, maxLength: 5 }),
        fc.string(),
        (occupied, counts, seed) => {
          const all = Array.from({ length: 16 }, (_, i) => member(i));
          const members = membersOf(...all);
          const random = Random.seeded(seed);
          members.setOccupied(byPlace(occupied));
          for (const count of counts) {
            const drawn: number[] = [];
            const source = { random: () => random.next() };
            const what = {
              how: 'distinct',
              scope: 'all',
              needs: NO_REQUIREMENTS,
              count,
              avoidsOccupied: true,
            } as const;
            members.draw(what, source, (to) => drawn.push(to));
            expect(drawn).toHaveLength(count);
            expect(new Set(drawn).size).toBe(count);
            const avoidable = drawn.filter((to) => occupied.includes(to)).length;
            expect(avoidable).toBe(Math.max(0, count - (16 - occupied.length)));
          }
        },
      ),
    );
  });

  test('is uniform over the others', () => {
    const members = membersOf(...Array.from({ length: 12 }, (_, i) => member(i)));
    members.setOccupied(byPlace([0, 11]));
    const random = Random.seeded('unoccupied');
    const counts = new Map<Address, number>();
    const rounds = 10_000;
    for (let i = 0; i < rounds; i++) {
      const source = { random: () => random.next() };
      const visit = (to: Address) => counts.set(to, (counts.get(to) ?? 0) + 1);
      members.draw(
        { how: 'distinct', scope: 'all', needs: NO_REQUIREMENTS, count: 3, avoidsOccupied: true },
        source,
        visit,
      );
    }
    expect(counts.size).toBe(10);
    for (const count of counts.values()) expect(Math.abs(count - rounds * 0.3)).toBeLessThan(5 * 46);
  });

  test('uses the last central’s bitmap until another central sends members', () => {
    const members = membersOf(member(1));
    members.setOccupied(byPlace([1]));
    members.apply(membersMessage(1, 0, [member(1)]));
    members.centralChanged();
    expect(members.isOccupied(1 as Address)).toBe(true);
    members.apply(membersMessage(1, 0, [member(1)]));
    expect(members.isOccupied(1 as Address)).toBe(false);
  });

  test('clears the bit of a worker that turns out to be free, without changing the received bitmap', () => {
    const members = membersOf(member(1), member(2));
    const bits = byPlace([1, 2]);
    members.setOccupied(bits);
    members.setUnoccupied(1 as Address);
    members.setUnoccupied(9 as Address);
    expect([1, 2].map((worker) => members.isOccupied(worker as Address))).toEqual([false, true]);
    expect(bits).toEqual(byPlace([1, 2]));
  });

  test('ignores workers that central has not reported', () => {
    const members = membersOf(member(1));
    members.setOccupied(byPlace([0, 1]));
    expect(members.isOccupied(2 as Address)).toBe(false);
  });
});

describe('updates of members', () => {
  const [one, two, three] = [1, 2, 3] as [Address, Address, Address];

  test('are a complete list, or changes to the known version', () => {
    const members = membersOf(member(1), member(2));
    expect(members.apply(membersMessage(2, 1, [member(3)], [1]))).toEqual([one]);
    expect([one, two, three].map((address) => members.get(address) !== undefined)).toEqual([
      false,
      true,
      true,
    ]);
    expect(members.apply(membersMessage(3, 0, [member(3)]))).toEqual([two]);
  });

  test('that skip a version are refused, and old ones have no effect', () => {
    const members = membersOf(member(1));
    expect(members.apply(membersMessage(4, 3, [member(2)]))).toBeUndefined();
    expect(members.apply(membersMessage(1, 0, [member(1)]))).toEqual([]);
    expect(members.apply(membersMessage(2, 1, [member(2)]))).toEqual([]);
    expect(members.apply(membersMessage(2, 1, [], [1]))).toEqual([]);
    expect(members.apply(membersMessage(1, 0, []))).toEqual([]);
    expect([members.size, members.version]).toEqual([2, 2]);
  });

  test('give the same result as the complete list, step by step', () => {
    const step = fc.record({ join: fc.array(fc.nat(12)), leave: fc.array(fc.nat(12)) });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 20 }), (steps) => {
        const members = membersOf();
        const present = new Set<number>();
        steps.forEach(({ join, leave }, i) => {
          const left = leave.filter((address) => present.has(address) && !join.includes(address));
          for (const address of left) present.delete(address);
          for (const address of join) present.add(address);
          const changed = join.map((address) => member(address));
          expect(new Set(members.apply(membersMessage(i + 2, i + 1, changed, left)))).toEqual(new Set(left));
        });
        expect(members.size).toBe(present.size);
        for (const address of present) expect(members.get(address as Address)).toBeDefined();
        const isGone = (address: number) => members.isGone(address as Address);
        expect([...present].filter(isGone)).toEqual([]);
      }),
    );
  });

  test('of a new central keep members of the last one until they have had time to join', () => {
    const members = membersOf(member(1), member(2));
    members.centralChanged();
    expect(members.apply(membersMessage(1, 0, [member(2)]))).toEqual([]);
    expect(members.get(one)).toBeDefined();
    expect(members.dropUnconfirmed(0)).toEqual([one]);
    expect(members.get(one)).toBeUndefined();
    expect(members.isGone(one)).toBe(true);
    expect(members.dropUnconfirmed(0)).toEqual([]);
  });

  test('bring back a lost worker', () => {
    const members = membersOf(member(1));
    members.apply(membersMessage(2, 1, [], [1]));
    expect(members.isGone(one)).toBe(true);
    members.apply(membersMessage(3, 2, [member(1)]));
    expect(members.isGone(one)).toBe(false);
  });
});

describe('the reason why no worker can run a task', () => {
  test('names the worker that comes closest', () => {
    const members = membersOf(member(1, { capacity: { memory: 4 } }), member(2, { capacity: { memory: 6 } }));
    expect(whyTooLarge(members, { memory: 6 })).toBeUndefined();
    expect(whyTooLarge(members, { memory: 8 })).toMatch(/closest is w2/);
  });

  test('names a worker if each lacks a resource completely', () => {
    const members = membersOf(member(1, { capacity: { memory: 5e-324 } }));
    expect(whyTooLarge(members, { memory: Number.MAX_SAFE_INTEGER })).toMatch(/closest is w1/);
  });

  test('is unknown while no worker is known', () => {
    expect(whyTooLarge(new Members(), { memory: 8 })).toBeUndefined();
  });
});

import { type Address, LANES, type Lane, NO_RESOURCES } from '@goshawk/core';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type Entry, entryOfProbe, probeOfEntry } from './entry.js';
import { WorkerMemory } from './memory.js';
import { WorkerQueue } from './queue.js';
import { SharedProbes } from './shared-probes.js';

/** Identifies entries by their stage, which is otherwise unused here. */
function entry(kind: 'short' | 'long', id: number, fields: Partial<Entry> = {}): Entry {
  return {
    owner: 1 as Address,
    job: 1,
    stage: id,
    long: kind === 'long',
    lane: 'normal',
    demand: NO_RESOURCES,
    placed: undefined,
    estimateMs: 0,
    sizeMs: 0,
    since: 0,
    ...fields,
  };
}

function newQueue(): WorkerQueue {
  const memory = new WorkerMemory();
  return new WorkerQueue(memory, memory.admit(1, NO_RESOURCES));
}

/** Builds a queue from `s s L s`: short probes and long tasks, in order of arrival. */
function queueOf(text: string): WorkerQueue {
  const queue = newQueue();
  text
    .split(' ')
    .filter((kind) => kind !== '')
    .forEach((kind, id) => {
      queue.push(kind === 'L' ? entry('long', id, { placed: { task: id, attempt: 1 } }) : entry('short', id));
    });
  return queue;
}

function idsOf(entries: Iterable<Entry>): number[] {
  return [...entries].map(({ stage }) => stage);
}

const NO_LIMIT = Number.POSITIVE_INFINITY;

describe('the express lane', () => {
  const express = (id: number) => entry('short', id, { lane: 'express' });

  test('goes ahead of all others, but never starves them', () => {
    const queue = queueOf('s s s');
    const served: number[] = [];
    for (let id = 10; id < 40; id++) {
      queue.push(express(id));
      const head = queue.head();
      const next = queue.shift()!;
      expect(next).toBe(head);
      served.push(idsOf([next])[0]!);
    }
    // One in nine turns belongs to another lane.
    expect(served.filter((id) => id < 10)).toEqual([0, 1, 2]);
    expect(served.slice(0, 9)).toEqual([10, 11, 12, 13, 14, 15, 16, 17, 0]);
  });

  test('counts turns only while a normal entry waits', () => {
    const queue = newQueue();
    for (let id = 10; id < 40; id++) queue.push(express(id));
    for (let served = 0; served < 30; served++) queue.shift();
    queue.push(entry('short', 1));
    queue.push(express(40));
    expect(idsOf([queue.shift()!, queue.shift()!])).toEqual([40, 1]);
  });
});

describe('the entries that may be stolen (Hawk Figure 3)', () => {
  test.each([
    // A short task runs: the run after the first long entry in the queue.
    ['a1', 'short', 's s L s s L s', [3, 4]],
    ['a2', 'short', 'L s s s', [1, 2, 3]],
    // A long task runs: the run at the head of the queue.
    ['b1', 'long', 's s L s s', [0, 1]],
    ['b2', 'long', 'L s s L s', [1, 2]],
    // No short probe waits behind a long task.
    ['short, nothing long behind it', 'short', 's s s', []],
    ['short, nothing short behind the long one', 'short', 's s L L', []],
    ['long, nothing short', 'long', 'L L', []],
    ['long, an empty queue', 'long', '', []],
  ] as const)('%s: a %s task runs, and %o waits', (_case, running, waiting, stolen) => {
    const queue = queueOf(waiting);
    expect(idsOf(queue.takeStealable(running === 'long', NO_LIMIT))).toEqual(stolen);
  });

  test('are limited in number, from the head of the run', () => {
    const queue = queueOf('L s s s s');
    expect(idsOf(queue.takeStealable(false, 2))).toEqual([1, 2]);
    expect(idsOf(queue)).toEqual([0, 3, 4]);
  });

  test('exclude placed tasks, even short ones', () => {
    const queue = newQueue();
    queue.push(entry('short', 0));
    queue.push(entry('short', 1, { placed: { task: 1, attempt: 1 } }));
    queue.push(entry('short', 2));
    expect(idsOf(queue.takeStealable(true, NO_LIMIT))).toEqual([0]);
    expect(idsOf(queue.takeStealable(true, NO_LIMIT))).toEqual([]);
  });

  test('start with the express lane if it waits for a long task', () => {
    const queue = queueOf('s s');
    queue.push(entry('short', 9, { lane: 'express' }));
    expect(idsOf(queue.takeStealable(false, 1))).toEqual([]);
    expect(idsOf(queue.takeStealable(true, NO_LIMIT))).toEqual([9]);
    expect(idsOf(queue.takeStealable(true, NO_LIMIT))).toEqual([0, 1]);
    expect(idsOf(queue.takeStealable(true, NO_LIMIT))).toEqual([]);
  });

  /**
   * Hawk §3.6: "The first consecutive group of short tasks that come after a long task is stolen." The running task
   * comes first.
   */
  function stealableByPaper(executingLong: boolean, waiting: readonly Entry[], limit: number): Entry[] {
    const all = [executingLong, ...waiting.map(({ long }) => long)];
    const isStealable = (i: number) => all[i] === false && waiting[i - 1]!.placed === undefined;
    for (let i = 1; i < all.length; i++) {
      const comesAfterLong = all[i - 1]!;
      if (all[i] || !comesAfterLong) continue;
      const group: Entry[] = [];
      for (let j = i; isStealable(j) && group.length < limit; j++) group.push(waiting[j - 1]!);
      return group;
    }
    return [];
  }

  const kind = fc.constantFrom('probe', 'probe', 'probe', 'long task', 'long probe', 'placed short');
  const lanes = fc.array(fc.tuple(kind, fc.constantFrom(...LANES, 'normal' as const)), { maxLength: 30 });

  test('are the first run of short probes after a long task; the rest is unchanged', () => {
    fc.assert(
      fc.property(lanes, fc.boolean(), fc.constantFrom(1, 2, 5, NO_LIMIT), (kinds, executingLong, limit) => {
        const queue = newQueue();
        const entries = kinds.map(([kind, lane], id) => {
          const isPlaced = kind === 'long task' || kind === 'placed short';
          return entry(kind.startsWith('long') ? 'long' : 'short', id, {
            lane: isPlaced ? 'normal' : lane,
            placed: isPlaced ? { task: id, attempt: 1 } : undefined,
          });
        });
        for (const entry of entries) queue.push(entry);
        const before = [...queue];
        const inLane = (lane: Lane) => entries.filter((entry) => entry.lane === lane);

        const express = executingLong ? inLane('express').slice(0, limit) : [];
        const expected =
          express.length > 0 ? express : stealableByPaper(executingLong, inLane('normal'), limit);
        const stolen = queue.takeStealable(executingLong, limit);
        expect(stolen).toEqual(expected);
        expect([...queue]).toEqual(before.filter((entry) => !stolen.includes(entry)));
        expect(queue.longEntries).toBe(inLane('normal').filter(({ long }) => long).length);
      }),
      { numRuns: 2_000 },
    );
  });
});

describe('the queue', () => {
  type Step =
    | { kind: 'push'; long: boolean; lane: Lane; owner: number; job: number; stage: number; placed: boolean }
    | { kind: 'shift' }
    | { kind: 'removeProbes'; owner: number; job: number; stage: number }
    | { kind: 'removeOwner'; owner: number }
    | { kind: 'removePlaced'; owner: number; job: number; task: number }
    | { kind: 'removeAll' };
  const small = fc.nat(2);
  const step: fc.Arbitrary<Step> = fc.oneof(
    { weight: 8, arbitrary: push() },
    { weight: 4, arbitrary: fc.record({ kind: fc.constant('shift' as const) }) },
    {
      weight: 1,
      arbitrary: fc.record({
        kind: fc.constant('removeProbes' as const),
        owner: small,
        job: small,
        stage: small,
      }),
    },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant('removeOwner' as const), owner: small }) },
    {
      weight: 1,
      arbitrary: fc.record({
        kind: fc.constant('removePlaced' as const),
        owner: small,
        job: small,
        task: fc.nat(20),
      }),
    },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant('removeAll' as const) }) },
  );

  function push(): fc.Arbitrary<Step> {
    return fc.record({
      kind: fc.constant('push' as const),
      long: fc.boolean(),
      lane: fc.constantFrom(...LANES),
      owner: small,
      job: small,
      stage: small,
      placed: fc.boolean(),
    });
  }

  test('serves express before normal, each FIFO, and removes selected entries', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 120 }), (steps) => {
        const queue = newQueue();
        let model: Entry[] = [];
        let task = 0;
        const remove = (matches: (entry: Entry) => boolean): Entry[] => {
          const removed = model.filter(matches);
          model = model.filter((entry) => !matches(entry));
          return removed;
        };
        const ordered = () => LANES.flatMap((lane) => model.filter((entry) => entry.lane === lane));
        const sameMembers = (one: readonly Entry[], other: readonly Entry[]) =>
          expect(new Set(one)).toEqual(new Set(other));

        for (const step of steps) {
          switch (step.kind) {
            case 'push': {
              const { long, owner, job, stage } = step;
              const placed = step.placed ? { task: task++ % 20, attempt: 1 } : undefined;
              const lane = step.placed ? 'normal' : step.lane;
              const pushed = { ...entry('short', stage), long, lane, owner: owner as Address, job, placed };
              // Central does not place a task twice.
              if (placed !== undefined && queue.has(pushed.owner, { job, ...placed })) break;
              queue.push(pushed);
              model.push(pushed);
              break;
            }
            case 'shift': {
              const next = ordered()[0];
              expect(queue.head()).toBe(next);
              expect(queue.shift()).toBe(next);
              model = model.filter((entry) => entry !== next);
              break;
            }
            case 'removeProbes': {
              const { owner, job, stage } = step;
              sameMembers(
                queue.removeProbes(owner as Address, job, stage),
                remove(
                  (e) => e.placed === undefined && e.owner === owner && e.job === job && e.stage === stage,
                ),
              );
              break;
            }
            case 'removeOwner':
              sameMembers(
                queue.removeOwner(step.owner as Address),
                remove((e) => e.owner === step.owner),
              );
              break;
            case 'removePlaced': {
              const { owner, job, task } = step;
              const expected = remove((e) => e.owner === owner && e.job === job && e.placed?.task === task);
              expect(queue.removePlaced(owner as Address, { job, task, attempt: 1 })).toBe(expected[0]);
              expect(queue.has(owner as Address, { job, task, attempt: 1 })).toBe(false);
              break;
            }
            case 'removeAll':
              sameMembers(
                queue.removeAll(),
                remove(() => true),
              );
              break;
          }
          expect([...queue]).toEqual(ordered());
          expect(queue.length).toBe(model.length);
          expect(queue.longEntries).toBe(model.filter((e) => e.long && e.lane === 'normal').length);
        }
      }),
      { numRuns: 500 },
    );
  });

  test('placed tasks are found without a scan of the queue', () => {
    const queue = newQueue();
    let looks = 0;
    const of = (task: number): Entry => ({
      ...entry('long', 0, { placed: { task, attempt: 1 } }),
      get job() {
        looks++;
        return 1;
      },
    });
    const tasks = 20_000;
    for (let task = 0; task < tasks; task++) {
      expect(queue.has(1 as Address, { job: 1, task, attempt: 1 })).toBe(false);
      queue.push(of(task));
    }
    for (let task = 0; task < tasks; task++)
      expect(queue.has(1 as Address, { job: 1, task, attempt: 1 })).toBe(true);
    expect(queue.has(1 as Address, { job: 1, task: 7, attempt: 2 })).toBe(false);
    for (let task = 0; task < tasks; task++)
      expect(queue.removePlaced(1 as Address, { job: 1, task, attempt: 1 })).toBeDefined();
    expect(queue.isEmpty).toBe(true);
    expect(queue.has(1 as Address, { job: 1, task: 7, attempt: 1 })).toBe(false);
    expect(looks).toBeLessThan(20 * tasks);
  });

  test('the smallest goes first if sizes are known, and the oldest of equal sizes', () => {
    const sizes = [5, 1, 3, 5, 3, 9, 1];
    const queue = newQueue();
    for (const [id, sizeMs] of sizes.entries()) queue.push(entry('short', id, { sizeMs }));
    expect(idsOf(queue)).toEqual([1, 6, 2, 4, 0, 3, 5]);
  });

  test('entries without a size go last, and later ones never pass them', () => {
    const queue = newQueue();
    for (const [id, sizeMs] of [5, 0, 3].entries()) queue.push(entry('short', id, { sizeMs }));
    expect(idsOf(queue)).toEqual([0, 1, 2]);
  });

  test('a large one is overtaken by smaller ones only for a limited time', () => {
    const queue = newQueue();
    queue.patienceMs = 100;
    const arrivals = [
      [0, 0, 50],
      [1, 0, 60],
      [2, 99, 40],
      [3, 100, 30],
      [4, 150, 20],
    ] as const;
    for (const [id, since, sizeMs] of arrivals) queue.push(entry('short', id, { sizeMs, since }));
    expect(idsOf(queue)).toEqual([2, 0, 1, 4, 3]);
  });

  test('a probe keeps everything but its position when it moves to another worker', () => {
    const waiting = entry('long', 3, { lane: 'express', demand: { memory: 5 }, sizeMs: 7, since: 9 });
    expect(entryOfProbe(waiting.owner, probeOfEntry(waiting), 9)).toEqual(waiting);
  });

  test('probes that arrive together wait as one entry, unless their owner or arrival differs', () => {
    const [unsized, sized] = [entry('short', 1), entry('short', 1, { sizeMs: 7, since: 9 })].map(
      probeOfEntry,
    );
    const shared = new SharedProbes();
    const first = shared.entryOf(unsized!.owner, unsized!, 1);
    expect(shared.entryOf(unsized!.owner, unsized!, 2)).toBe(first);
    const other = (unsized!.owner + 1) as Address;
    expect(shared.entryOf(other, unsized!, 2)).toEqual({ ...first, owner: other });
    const early = shared.entryOf(sized!.owner, sized!, 9);
    expect(shared.entryOf(sized!.owner, sized!, 10)).toEqual({ ...early, since: 10 });
    expect(shared.probeOf(first)).toBe(shared.probeOf(first));
    expect(shared.probeOf(first)).toEqual(unsized);
  });
});

import { expect, test } from 'vitest';
import { ONE_CPU, ResourceNames } from '../resources/vector.js';
import { meetsWishes } from './attributes.js';
import { FeasibleWorkers } from './feasible-workers.js';
import { NeedsTable } from './needs.js';

test('equal needs share one object until its last user releases it, which frees its id', () => {
  const table = new NeedsTable(new ResourceNames());
  const first = table.take([1, 2_000], { zone: 'eu', rack: 'r1' });
  expect(table.take([1, 2_000], { rack: 'r1', zone: 'eu' })).toBe(first);
  const others = [table.take([1, 2_000]), table.take([1, 1_000]), table.take(ONE_CPU)];
  expect(new Set([first, ...others].map(({ id }) => id))).toStrictEqual(new Set([0, 1, 2, 3]));
  expect(others.map(({ isPlain }) => isPlain)).toStrictEqual([false, false, true]);
  table.release(first);
  expect(table.take([1, 2_000], { rack: 'r1', zone: 'eu' })).toBe(first);
  table.release(first);
  table.release(first);
  expect(table.size).toBe(3);
  expect(table.take([1, 9_000]).id).toBe(first.id);
});

test('a part of a GPU counts as a whole one for tasks that select their workers', () => {
  const names = new ResourceNames();
  const table = new NeedsTable(names);
  const demand = names.demandOf({ cpu: 0.5, gpu: 1.2 });
  expect(names.resourcesOf(table.take(demand).counted)).toStrictEqual({ cpu: 0.5, gpu: 1.2 });
  expect(names.resourcesOf(table.take(demand, { rack: 'spread:1' }).counted)).toStrictEqual({
    cpu: 0.5,
    gpu: 2,
  });
});

test('a requirement names the permitted values, or after ! the excluded ones', () => {
  const permits = (rack: string, attributes: Record<string, string>) => meetsWishes({ rack }, attributes);
  expect(permits('r1', { rack: 'r1' })).toBe(true);
  expect(permits('r1,r2', { rack: 'r2' })).toBe(true);
  expect(permits('r1,r2', { rack: 'r3' })).toBe(false);
  expect(permits('r1', {})).toBe(false);
  expect(permits('!r1', { rack: 'r1' })).toBe(false);
  expect(permits('!r1,r2', { rack: 'r2' })).toBe(false);
  expect(permits('!r1,r2', { rack: 'r3' })).toBe(true);
  expect(permits('!r1', {})).toBe(true);
});

test('the index follows workers that join and leave, even if ids and kinds are reused', () => {
  const table = new NeedsTable(new ResourceNames());
  const needs = [
    table.take(ONE_CPU),
    table.take([1, 4_000]),
    table.take(ONE_CPU, { rack: '!r1' }),
    table.take([1, 2_000], { rack: 'r1,r2' }),
    table.take([1, 99_000]),
  ];
  const workers: { id: number; capacity: number[]; attributes: Record<string, string> }[] = [];
  const index = new FeasibleWorkers<(typeof workers)[number]>();
  let seed = 1;
  const draw = (below: number): number => {
    seed = (seed * 48_271) % 2_147_483_647;
    return seed % below;
  };
  for (let step = 0; step < 1_000; step++) {
    if (draw(2) === 0 || workers.length === 0) {
      const id = Array.from({ length: workers.length + 1 }, (_, at) => at).find(
        (at) => !workers.some((worker) => worker.id === at),
      )!;
      const attributes: Record<string, string> = draw(3) === 0 ? {} : { rack: `r${draw(200)}` };
      const worker = { id, capacity: [4, 1_000 * (1 + draw(4))], attributes };
      workers.push(worker);
      index.add(worker);
    } else index.delete(workers.splice(draw(workers.length), 1)[0]!);
    for (const each of needs) {
      const able = workers
        .filter((worker) => each.demand[1]! <= worker.capacity[1]! && each.permits(worker))
        .sort((one, other) => one.id - other.id);
      expect([...index.for(each)].sort((one, other) => one.id - other.id)).toStrictEqual(able);
      expect(index.has(each)).toBe(able.length > 0);
    }
    expect(index.size).toBe(workers.length);
  }
});

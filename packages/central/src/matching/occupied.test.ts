import { type Address, NO_RESOURCES } from '@goshawk/core';
import { expect, test } from 'vitest';
import { Occupied } from './occupied.js';
import { Pool } from './pool.js';

/** Workers of two slots each, of which so many run long tasks. */
function poolOf(...long: number[]): Pool {
  const pool = new Pool();
  long.forEach((count, place) => {
    const puller = pool.add(place as Address, place, 2, NO_RESOURCES);
    pool.pulled(puller, {
      type: 'pull',
      heard: [],
      free: 0,
      spare: NO_RESOURCES,
      long: count,
      shortMs: 0,
      runs: [],
    });
  });
  return pool;
}

test('a worker is occupied when every slot runs a long task, or is about to', () => {
  const pool = poolOf(2, 1, 0, 2, 0, 0, 0, 0, 1, 2);
  const match = { owner: 50 as Address, job: 1, long: true, demand: NO_RESOURCES, at: 0 };
  pool.match(pool.get(1 as Address)!, match);
  expect(new Occupied().changed(pool, 10)).toEqual(new Uint8Array([0b0000_1011, 0b10]));
});

test('what has not changed is not told again, unless somebody has not been told', () => {
  const occupied = new Occupied();
  const pool = poolOf(0, 2);
  expect(occupied.changed(poolOf(0, 0), 2)).toBeUndefined();
  expect(occupied.changed(pool, 2)).toBeDefined();
  expect(occupied.changed(pool, 2)).toBeUndefined();
  expect(occupied.changed(poolOf(0, 2, 0), 9)).toBeUndefined();
  occupied.forget();
  expect(occupied.changed(pool, 2)).toBeDefined();
  expect(occupied.changed(poolOf(0, 0), 2)).toEqual(new Uint8Array([0]));
});

test('nobody is looked at while no worker runs more or fewer long tasks', () => {
  const occupied = new Occupied();
  const pool = poolOf(2, 0);
  let looks = 0;
  const pullers = {
    get longChanges() {
      return pool.longChanges;
    },
    [Symbol.iterator]() {
      looks++;
      return pool[Symbol.iterator]();
    },
  };
  expect(occupied.changed(pullers, 2)).toEqual(new Uint8Array([0b01]));
  const short = { owner: 50 as Address, job: 1, long: false, demand: NO_RESOURCES, at: 0 };
  const second = pool.get(1 as Address)!;
  pool.match(second, short);
  expect(occupied.changed(pullers, 2)).toBeUndefined();
  expect(looks).toBe(1);
  pool.match(second, { ...short, long: true });
  pool.match(second, { ...short, long: true });
  expect(occupied.changed(pullers, 2)).toEqual(new Uint8Array([0b11]));
  pool.remove(0 as Address);
  expect(occupied.changed(pullers, 2)).toEqual(new Uint8Array([0b10]));
});

import { type Address, ONE_CPU } from '@goshawk/core';
import { ClusterBooks } from '@goshawk/policies';
import { expect, test } from 'vitest';
import { OccupiedBitmap } from './occupied-bitmap.js';

/** Workers with two slots each, with these numbers of running long tasks. */
function clusterOf(...long: number[]) {
  const books = new ClusterBooks();
  const job = books.declare(50 as Address, 1, { arrivedAt: 0, long: true });
  const stage = books.stage(job, 0, { demand: ONE_CPU });
  const workers = long.map((count, bit) => {
    const worker = books.addWorker(bit as Address, books.names.capacityOf(2, {}));
    for (let i = 0; i < count; i++) books.adoptRun(stage, worker, 0);
    worker.row = bit;
    return worker;
  });
  return { workers, longChanges: long.reduce((sum, count) => sum + count, 0) };
}

test('a worker is occupied when every slot runs a long task', () => {
  const cluster = clusterOf(2, 2, 0, 2, 0, 0, 0, 0, 1, 2);
  expect(new OccupiedBitmap().update(cluster, 10)).toEqual(new Uint8Array([0b0000_1011, 0b10]));
});

test('unchanged state is not resent, except to new schedulers', () => {
  const occupied = new OccupiedBitmap();
  const cluster = clusterOf(0, 2);
  expect(occupied.update(clusterOf(0, 0), 2)).toBeUndefined();
  expect(occupied.update(cluster, 2)).toBeDefined();
  expect(occupied.update(cluster, 2)).toBeUndefined();
  expect(occupied.update(clusterOf(0, 2, 0), 9)).toBeUndefined();
  occupied.schedulerJoined();
  expect(occupied.update(cluster, 2)).toBeDefined();
  expect(occupied.update(clusterOf(0, 0), 2)).toEqual(new Uint8Array([0]));
});

test('a change back to unoccupied is sent even if a new scheduler did not get the first change', () => {
  const occupied = new OccupiedBitmap();
  expect(occupied.update(clusterOf(2, 0), 2)).toBeDefined();
  occupied.schedulerJoined();
  expect(occupied.update(clusterOf(0, 0), 2)).toEqual(new Uint8Array([0]));
});

test('workers are not scanned while counts of long tasks are unchanged', () => {
  const occupied = new OccupiedBitmap();
  let looks = 0;
  const watched = (of: ReturnType<typeof clusterOf>) => ({
    longChanges: of.longChanges,
    workers: {
      [Symbol.iterator]() {
        looks++;
        return of.workers[Symbol.iterator]();
      },
    },
  });
  expect(occupied.update(watched(clusterOf(2, 0)), 2)).toEqual(new Uint8Array([0b01]));
  expect(occupied.update(watched(clusterOf(2, 0)), 2)).toBeUndefined();
  expect(looks).toBe(1);
  expect(occupied.update(watched(clusterOf(2, 2)), 2)).toEqual(new Uint8Array([0b11]));
});

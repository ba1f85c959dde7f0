import { expect, it } from 'vitest';
import { Lanes } from './lanes.js';

it('an attempt is as high as the CPUs that it requests', () => {
  const lanes = new Lanes(4, 0);
  expect(lanes.take(0, 10, 3)).toEqual([{ from: 0, cpus: 3 }]);
  expect(lanes.take(1, 5, 1)).toEqual([{ from: 3, cpus: 1 }]);
  expect(lanes.take(10, 20, 4)).toEqual([{ from: 0, cpus: 4 }]);
  expect(lanes.height).toBe(4);
});

it('an attempt takes CPUs that are not adjacent in several parts', () => {
  const lanes = new Lanes(3, 0);
  lanes.take(0, 5, 1);
  lanes.take(0, 20, 1);
  lanes.take(0, 5, 1);
  expect(lanes.take(6, 9, 2)).toEqual([
    { from: 0, cpus: 1 },
    { from: 2, cpus: 1 },
  ]);
  expect(lanes.height).toBe(3);
});

it('attempts that request more than the CPUs of the worker make its row higher', () => {
  const lanes = new Lanes(1, 0);
  lanes.take(0, 5, 1);
  expect(lanes.take(1, 5, 0.5)).toEqual([{ from: 1, cpus: 0.5 }]);
  expect(lanes.height).toBe(1.5);
  const unlimited = new Lanes(0, 0);
  expect(unlimited.take(0, 5, 2)).toEqual([{ from: 0, cpus: 2 }]);
  expect(unlimited.height).toBe(2);
});

it('a slight overlap does not move an attempt to another place', () => {
  const lanes = new Lanes(2, 10);
  lanes.take(0, 105, 1);
  expect(lanes.take(100, 200, 1)).toEqual([{ from: 0, cpus: 1 }]);
});

import { expect, test } from 'vitest';
import { needKey } from './order.js';
import { NEED_ORDERS, type NeedOrder } from './settings.js';

/** By name, in the order in which they came. */
const jobs = {
  many: { estimateMs: 10, sizeMs: 1_000, tasks: 90 },
  few: { estimateMs: 400, sizeMs: 800, tasks: 2 },
  begun: { estimateMs: 20, sizeMs: 2_000, tasks: 10 },
};

const expected: Record<NeedOrder, (keyof typeof jobs)[]> = {
  size: ['few', 'many', 'begun'],
  remaining: ['begun', 'few', 'many'],
  mean: ['many', 'begun', 'few'],
  tasks: ['few', 'begun', 'many'],
  fifo: ['many', 'few', 'begun'],
};

test.each(NEED_ORDERS)('%s', (order) => {
  const names = Object.keys(jobs) as (keyof typeof jobs)[];
  const keyOf = (name: keyof typeof jobs) => needKey(order, jobs[name], names.indexOf(name));
  expect(names.toSorted((one, other) => keyOf(one) - keyOf(other))).toEqual(expected[order]);
});

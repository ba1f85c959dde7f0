import { expect, test } from 'vitest';
import { byThird, MemoryWatch } from './memory.js';

test('an ended process is omitted', () => {
  const watch = new MemoryWatch();
  const self = { group: 'self', pid: process.pid };
  for (const atMs of [0, 1_000]) watch.sample(atMs, [self, { group: 'gone', pid: 2 ** 30 }]);
  const { self: trend, ...others } = watch.trends(2_000);
  expect(others).toEqual({});
  expect(trend!.meanMebibytes).toBeGreaterThan(1);
  expect(trend!.thirds[0]).toBeGreaterThan(1);
});

test('items after the end count for the last third', () => {
  expect(byThird([0, 33, 34, 99, 100, 130], 100, (atMs) => atMs)).toEqual([[0, 33], [34], [99, 100, 130]]);
});

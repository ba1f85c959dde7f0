import { expect, test } from 'vitest';
import { MemoryWatch, slopeOf } from './memory.js';

test('the slope of a line is its growth a minute', () => {
  const line = Array.from({ length: 10 }, (_, i) => ({ atMs: i * 30_000, mebibytes: 50 + i }));
  expect(slopeOf(line)).toBeCloseTo(2);
  expect(slopeOf(line.map(({ atMs }) => ({ atMs, mebibytes: 7 })))).toBe(0);
  expect(slopeOf(line.slice(0, 1))).toBe(0);
});

test('a process that is gone is left out', () => {
  const watch = new MemoryWatch();
  const self = { group: 'self', pid: process.pid };
  for (const atMs of [0, 1_000]) watch.sample(atMs, [self, { group: 'gone', pid: 2 ** 30 }]);
  expect(Object.keys(watch.slopes(0))).toEqual(['self']);
  expect(watch.slopes(0).self!.meanMebibytes).toBeGreaterThan(1);
});

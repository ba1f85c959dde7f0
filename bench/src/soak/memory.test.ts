import { expect, test } from 'vitest';
import { MemoryWatch } from './memory.js';

test('a process that is gone is left out', () => {
  const watch = new MemoryWatch();
  const self = { group: 'self', pid: process.pid };
  for (const atMs of [0, 1_000]) watch.sample(atMs, [self, { group: 'gone', pid: 2 ** 30 }]);
  expect(Object.keys(watch.slopes(0))).toEqual(['self']);
  expect(watch.slopes(0).self!.meanMebibytes).toBeGreaterThan(1);
});

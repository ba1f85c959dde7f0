import { expect, test } from 'vitest';
import { MemoryWatch } from './memory.js';

test('an ended process is omitted', () => {
  const watch = new MemoryWatch();
  const self = { group: 'self', pid: process.pid };
  for (const atMs of [0, 1_000]) watch.sample(atMs, [self, { group: 'gone', pid: 2 ** 30 }]);
  expect(Object.keys(watch.slopes(0))).toEqual(['self']);
  expect(watch.slopes(0).self!.meanMebibytes).toBeGreaterThan(1);
});

import { expect, test } from 'vitest';
import { DenseIds } from './dense-ids.js';

test('reuses released ids, the latest first, before new ones', () => {
  const ids = new DenseIds();
  expect([ids.take(), ids.take(), ids.take()]).toEqual([0, 1, 2]);
  ids.release(0);
  ids.release(1);
  expect([ids.take(), ids.take(), ids.take()]).toEqual([1, 0, 3]);
  expect(ids.end).toBe(4);
});

import { expect, test } from 'vitest';
import { present } from './present.js';

test('fields that are undefined are not there, others are as they were, in their order', () => {
  const fields = present({ name: 'job', user: undefined, weight: 0, key: null, after: '' });
  expect(Object.entries(fields)).toEqual([
    ['name', 'job'],
    ['weight', 0],
    ['key', null],
    ['after', ''],
  ]);
});

import { expect, test } from 'vitest';
import { present } from './present.js';

test('undefined fields are omitted, and others keep their values and order', () => {
  const fields = present({ name: 'job', user: undefined, weight: 0, key: null, after: '' });
  expect(Object.entries(fields)).toEqual([
    ['name', 'job'],
    ['weight', 0],
    ['key', null],
    ['after', ''],
  ]);
});

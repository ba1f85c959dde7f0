import { expect, test } from 'vitest';
import { RetryKeys } from './retry-keys.js';

test('tells a repeated request from one that selects other tasks', () => {
  const keys = new RetryKeys();
  const first = { tasks: [{ first: 0, last: 3 }] };
  keys.add('a', first);
  keys.add('b', { failedOnly: true });
  expect(keys.find('a', { tasks: [{ first: 0, last: 3 }] })).toBe('same');
  expect(keys.find('a', { tasks: [{ first: 0, last: 4 }] })).toBe('other');
  expect(keys.find('b', {})).toBe('other');
  expect(keys.find('c', first)).toBeUndefined();
});

test('forgets the oldest keys', () => {
  const keys = new RetryKeys();
  for (let retry = 0; retry <= 16; retry++) keys.add(`${retry}`, {});
  expect(keys.find('0', {})).toBeUndefined();
  expect(keys.find('1', {})).toBe('same');
});

import type { RetryChoice } from '@goshawk/core';
import { expect, test } from 'vitest';
import { RetryKeys } from './reopening.js';

const ALL: RetryChoice = { failedOnly: undefined, tasks: undefined };

function tasksTo(last: number): RetryChoice {
  return { failedOnly: undefined, tasks: [{ first: 0, last }] };
}

test('tells a repeated request from one that selects other tasks', () => {
  const keys = new RetryKeys();
  keys.add('a', tasksTo(3));
  keys.add('b', { failedOnly: true, tasks: undefined });
  expect(keys.find('a', tasksTo(3))).toBe('same');
  expect(keys.find('a', tasksTo(4))).toBe('other');
  expect(keys.find('b', ALL)).toBe('other');
  expect(keys.find('c', ALL)).toBeUndefined();
});

test('forgets the oldest keys', () => {
  const keys = new RetryKeys();
  for (let retry = 0; retry <= 16; retry++) keys.add(`${retry}`, ALL);
  expect(keys.find('0', ALL)).toBeUndefined();
  expect(keys.find('1', ALL)).toBe('same');
});

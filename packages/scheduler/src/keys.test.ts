import { rendezvous } from '@goshawk/core';
import { expect, test } from 'vitest';
import { Keys } from './keys.js';

const owners = ['a', 'b', 'c'].map((name) => ({ name, away: name === 'c' }));
const told = {
  type: 'members',
  version: 1,
  since: 0,
  changed: [],
  left: [],
  owners,
  ownersVersion: 4,
} as const;
const keyOf = (name: string) =>
  Array.from({ length: 1_000 }, (_, i) => `${i}`).find((key) => rendezvous(key, owners)!.name === name)!;

test('a scheduler takes the keys that are its own, and says whose the others are', () => {
  const keys = new Keys('a');
  keys.told(told);
  expect(keys.refusal(keyOf('a'))).toBeUndefined();
  expect(keys.refusal(keyOf('b'))).toMatchObject({
    code: 'other-scheduler',
    message: 'the key belongs to scheduler b',
  });
  expect(keys.refusal(keyOf('c'))).toMatchObject({ code: 'owner-away' });
  expect(keys.version).toBe(4);
});

test('a scheduler that knows of no others takes every key', () => {
  expect(new Keys('a').refusal(keyOf('b'))).toBeUndefined();
});

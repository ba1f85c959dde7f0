import { expect, test } from 'vitest';
import { Turns } from './turns.js';

test('a request waits for earlier requests, and not for later ones', () => {
  const turns = new Turns();
  expect(turns.isBefore('s', 'submit', 7, 0)).toBe(false);
  turns.note('s', 'submit', 5, 100);
  expect(turns.isBefore('s', 'submit', 7, 50)).toBe(true);
  expect(turns.isBefore('s', 'submit', 7, 101)).toBe(false);
  expect(turns.isBefore('s', 'submit', 4, 50)).toBe(false);
  expect(turns.isBefore('s', 'watchJob', 7, 50)).toBe(false);
  expect(turns.isBefore('other', 'submit', 7, 50)).toBe(false);
  turns.note('s', 'submit', 8, 200);
  turns.note('s', 'submit', 6, 300);
  expect(turns.isBefore('s', 'submit', 7, 250)).toBe(false);
});

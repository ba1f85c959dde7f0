import { expect, it } from 'vitest';
import { matchesGlob } from './glob.js';

it.each([
  ['etl', 'etl', true],
  ['etl', 'etl-1', false],
  ['etl*', 'etl-1', true],
  ['*', '', true],
  ['*-?', 'etl-1', true],
  ['*-?', 'etl-12', false],
  ['a*b*c', 'a-b-b-c', true],
  ['a*b*c', 'a-b-b-d', false],
  ['?', '', false],
  ['', 'a', false],
  ['[a]', 'a', false],
  ['a.c', 'abc', false],
])('%j and %j: %j', (pattern, text, matches) => {
  expect(matchesGlob(pattern, text)).toBe(matches);
});

it('a pattern with many stars matches in bounded time', () => {
  expect(matchesGlob(`${'*a'.repeat(120)}b`, 'a'.repeat(256))).toBe(false);
});

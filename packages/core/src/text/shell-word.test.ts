import { expect, test } from 'vitest';
import { shellWord } from './shell-word.js';

test.each([
  ['plain-1.txt', 'plain-1.txt'],
  ['{}', '{}'],
  ['', "''"],
  ['two words', "'two words'"],
  ["it's", "'it'\\''s'"],
  ['{a,b}', "'{a,b}'"],
  ['$HOME', "'$HOME'"],
])('%j is %s for a shell', (word, expected) => {
  expect(shellWord(word)).toBe(expected);
});

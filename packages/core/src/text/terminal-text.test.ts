import fc from 'fast-check';
import { expect, it } from 'vitest';
import { cellWidth, plain, shortened, wrapProse, wrapWords } from './terminal-text.js';

it('breaks at spaces, and never within a word', () => {
  expect(wrapWords('all of it fits', 14)).toEqual(['all of it fits']);
  expect(wrapWords('a line of some words', 9)).toEqual(['a line of', 'some', 'words']);
  expect(wrapWords('incomprehensible it is', 5)).toEqual(['incomprehensible', 'it is']);
  expect(wrapWords('\u001b[2mab cd\u001b[22m', 5)).toEqual(['\u001b[2mab cd\u001b[22m']);
  expect(wrapWords('東京 都庁', 5)).toEqual(['東京', '都庁']);
});

it('keeps commands whole, so that they can be copied', () => {
  expect(wrapProse('it goes on; `goshawk wait a-1` waits again\n`a b`', 16)).toBe(
    ['it goes on;', '`goshawk wait a-1`', 'waits again', '`a b`'].join('\n'),
  );
});

it('truncates text in any script to its columns', () => {
  expect(shortened('проект alpha beta', 10)).toBe('проект al…');
  const text = fc.string({
    unit: fc.constantFrom('a', ' ', 'é', 'п', '漢', '█', '😀', '\u0301'),
    maxLength: 30,
  });
  fc.assert(
    fc.property(text, fc.integer({ min: 1, max: 20 }), (any, columns) => {
      expect(cellWidth(shortened(any, columns))).toBeLessThanOrEqual(columns);
    }),
  );
});

it('untrusted text cannot move the cursor, or break, reverse or hide parts of the line', () => {
  expect(plain('a\u001b[31mb\u001b]0;title\u0007c\r\nd')).toBe('abc d');
  expect(plain('\u001b]8;;http://x\u001b\\link\u001b]8;;\u001b\\ \u009b2Jx\u001bcy\u001b(0z\u001b')).toBe(
    'link xyz ',
  );
  expect(plain('user\u202Etxt.exe\u2066x\u200f')).toBe('usertxt.exex');
  expect(plain('a\u200bb\ufeffc\u2060d\u00ade\u{e0041}f\u2028g')).toBe('abcdef g');
  expect(plain('👩‍💻 é 東京 \u0646\u200c\u0645')).toBe('👩‍💻 é 東京 \u0646\u200c\u0645');
});

it('plain text is as wide as it looks, regardless of its input', () => {
  const any = fc.string({ unit: 'binary', maxLength: 30 });
  fc.assert(
    fc.property(any, (text) => {
      const shown = plain(text);
      expect(plain(shown)).toBe(shown);
      // biome-ignore lint/suspicious/noControlCharactersInRegex: none of them may be left
      expect(shown).not.toMatch(/[\u0000-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069\u200b\u200e\u200f]/);
    }),
  );
  expect(['東京', '👩‍💻', 'e\u0301', '🇩🇪', 'ab'].map(cellWidth)).toEqual([4, 2, 1, 2, 2]);
});

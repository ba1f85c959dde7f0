import fc from 'fast-check';
import { expect, it } from 'vitest';
import { painter } from './paint.js';
import { page } from './sections.js';
import { cellWidth, shortened, wrapProse, wrapWords } from './width.js';

it('breaks at spaces, and never within a word', () => {
  expect(wrapWords('all of it fits', 14)).toEqual(['all of it fits']);
  expect(wrapWords('a line of some words', 9)).toEqual(['a line of', 'some', 'words']);
  expect(wrapWords('incomprehensible it is', 5)).toEqual(['incomprehensible', 'it is']);
  expect(wrapWords('\u001b[2mab cd\u001b[22m', 5)).toEqual(['\u001b[2mab cd\u001b[22m']);
  expect(wrapWords('東京 都庁', 5)).toEqual(['東京', '都庁']);
});

it('keeps commands whole that are to be copied', () => {
  expect(wrapProse('it goes on; `goshawk wait a-1` waits again\n`a b`', 16)).toBe(
    ['it goes on;', '`goshawk wait a-1`', 'waits again', '`a b`'].join('\n'),
  );
});

it('shortens text of any scripts to its columns', () => {
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

it('a page keeps its lines beside their labels', () => {
  const sections = [['line', ['one after another', 'two']]] as const;
  expect(page('title', sections, painter({ color: false, columns: 20 }))).toBe(
    ['title', '  line  one after', '        another', '        two'].join('\n'),
  );
});

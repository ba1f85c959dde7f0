import { expect, it } from 'vitest';
import { clipLines, redrawing } from './redrawing.js';

it('cuts each line, and keeps the colours', () => {
  expect(clipLines('abcdef\n\u001b[31mabc\u001b[39mdef\nab', 4)).toBe('abcd\n\u001b[31mabc\u001b[39md\nab');
});

it('draws each page over the one before', () => {
  const written: string[] = [];
  const draw = redrawing({ out: (text) => written.push(text), columns: 4 });
  for (const page of ['abcdef\nb', 'c']) draw(page);
  expect(written).toEqual(['abcd\nb', '\u001b[2A\u001b[Jc']);
});

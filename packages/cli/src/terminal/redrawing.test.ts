import { expect, it } from 'vitest';
import { clipLines, redrawing } from './redrawing.js';

it('cuts each line, and keeps the colours', () => {
  expect(clipLines('abcdef\n\u001b[31mabc\u001b[39mdef\nab', 4)).toBe('abcd\n\u001b[31mabc\u001b[39md\nab');
});

it('cuts by the columns that characters take', () => {
  expect(clipLines('漢字漢字', 5)).toBe('漢字');
  expect(clipLines('\u001b[1m漢字漢\u001b[22m x', 4)).toBe('\u001b[1m漢字\u001b[22m');
});

it('draws each page over the one before', () => {
  const written: string[] = [];
  const draw = redrawing({ out: (text) => written.push(text), columns: 4 });
  for (const page of ['abcdef\nb', 'c']) draw(page);
  expect(written).toEqual(['abcd\nb', '\u001b[2A\u001b[Jc']);
});

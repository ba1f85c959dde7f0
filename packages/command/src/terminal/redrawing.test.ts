import { expect, it } from 'vitest';
import { redrawing } from './redrawing.js';

/** Output for these pages on a terminal that may be resized. */
function drawing(terminal: { columns: number; rows?: number }) {
  const written: string[] = [];
  const stdout = Object.assign(terminal, { write: () => {} });
  return { written, terminal, draw: redrawing({ out: (text) => written.push(text), stdout }) };
}

it('replaces the previous page', () => {
  const { written, draw } = drawing({ columns: 4 });
  for (const page of ['abcdef\nb', 'c']) draw(page);
  expect(written).toEqual(['abcd\nb', '\u001b[2A\u001b[Jc']);
});

it('cuts lines by display width and keeps their colours', () => {
  const { written, draw } = drawing({ columns: 5 });
  draw('漢字漢字\n\u001b[31mabcd\u001b[39mef\n\u001b[1m漢字漢\u001b[22m x');
  expect(written).toEqual(['漢字\n\u001b[31mabcd\u001b[39me\n\u001b[1m漢字\u001b[22m']);
});

it('draws at most as many lines as the terminal has, since it cannot overwrite others', () => {
  const { written, terminal, draw } = drawing({ columns: 80, rows: 4 });
  draw('a\nb\nc');
  draw('a\nb\nc\nd');
  terminal.rows = 3;
  draw('a\nb\nc');
  expect(written).toEqual(['a\nb\nc', '\u001b[3A\u001b[Ja\nb\n…', '\u001b[3A\u001b[Ja\n…']);
});

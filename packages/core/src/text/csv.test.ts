import fc from 'fast-check';
import { expect, it } from 'vitest';
import { csvRow, parseCsv } from './csv.js';

it('cells with commas, quotes and line breaks are quoted', () => {
  expect(csvRow([1, 'a,b', 'say "x"', 'two\nlines', null, ''])).toBe('1,"a,b","say ""x""","two\nlines",,');
});

it('text that a spreadsheet would read as a formula is escaped, a number is not', () => {
  for (const text of ['=1+1', '+a', '-1-2', '-', '@sum', '\t=1']) expect(csvRow([text])).toBe(`'${text}`);
  expect(csvRow(['\r=1', '=a,b'])).toBe(`"'\r=1","'=a,b"`);
  expect(csvRow([-1, 'a=b', '-0.5', '+1e-3'])).toBe('-1,a=b,-0.5,+1e-3');
});

it('parsed rows are the written ones', () => {
  const cell = fc
    .string({ unit: fc.constantFrom('a', '1', ',', '"', ' ', '\r\n', '\n', 'é') })
    .filter((text) => !text.startsWith('\r'));
  // One empty cell is an empty line.
  const row = fc.array(cell, { minLength: 1, maxLength: 4 }).filter((cells) => cells.join('') !== '');
  fc.assert(
    fc.property(fc.array(row), fc.constantFrom('\n', '\r\n'), fc.boolean(), (rows, newline, isEnded) => {
      const text = rows.map(csvRow).join(newline) + (isEnded ? newline : '');
      expect(parseCsv(text).map(({ cells }) => cells)).toEqual(rows);
    }),
  );
});

it('rows know their lines, and misplaced quotes are refused', () => {
  expect(parseCsv('\ufeffa,b\n\n"x\ny",2\n3,4')).toEqual([
    { line: 1, cells: ['a', 'b'] },
    { line: 3, cells: ['x\ny', '2'] },
    { line: 5, cells: ['3', '4'] },
  ]);
  for (const text of ['a\nb"c', 'a\n"b', 'a\n"b"c']) expect(() => parseCsv(text)).toThrow('line 2');
});

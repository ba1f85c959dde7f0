import { expect, it } from 'vitest';
import { csvRow } from './csv.js';

it('cells with commas, quotes and line breaks are quoted', () => {
  expect(csvRow([1, 'a,b', 'say "x"', 'two\nlines', null, ''])).toBe('1,"a,b","say ""x""","two\nlines",,');
});

it('text that a spreadsheet would read as a formula is escaped, a number is not', () => {
  for (const text of ['=1+1', '+1', '-1', '@sum', '\t=1']) expect(csvRow([text])).toBe(`'${text}`);
  expect(csvRow(['\r=1', '=a,b'])).toBe(`"'\r=1","'=a,b"`);
  expect(csvRow([-1, 'a=b'])).toBe('-1,a=b');
});

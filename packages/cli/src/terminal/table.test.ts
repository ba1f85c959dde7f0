import { describe, expect, it } from 'vitest';
import { painter } from './paint.js';
import { type Column, renderTable } from './table.js';

const columns: Column[] = [
  { title: 'id' },
  { title: 'name', shrinkTo: 4 },
  { title: 'user', dropFirst: 2 },
  { title: 'class', dropFirst: 1 },
  { title: 'n', align: 'right' },
];
const rows = [
  ['a', 'a long name', 'ann', 'short', '1'],
  ['bb', 'x', 'bob', 'long', '1,000'],
];
const paint = painter(false);

describe('a table', () => {
  it('is aligned, numbers to the right', () => {
    expect(renderTable(columns, rows, 80, paint)).toBe(
      [
        'id  name         user  class      n',
        'a   a long name  ann   short      1',
        'bb  x            bob   long   1,000',
      ].join('\n'),
    );
  });

  it('cuts what may be cut when the terminal is narrow', () => {
    expect(renderTable(columns, rows, 30, paint)).toBe(
      [
        'id  name    user  class      n',
        'a   a lon…  ann   short      1',
        'bb  x       bob   long   1,000',
      ].join('\n'),
    );
  });

  it('then leaves out what can be done without', () => {
    expect(renderTable(columns, rows, 20, paint).split('\n')[0]).toBe('id  name      n');
    expect(renderTable(columns, rows, 5, paint).split('\n')[2]).toBe('bb  x     1,000');
  });

  it('counts wide characters twice, and does not cut one in half', () => {
    const wide = [['a', '東京都庁', 'ann', 'short', '1']];
    expect(renderTable(columns, wide, 80, paint).split('\n')[1]).toBe('a   東京都庁  ann   short  1');
    expect(renderTable(columns, wide, 26, paint).split('\n')[1]).toBe('a   東京…   ann   short  1');
  });

  it('does not count colours', () => {
    const colored = renderTable(columns, [['\u001b[31ma\u001b[39m', 'n', 'u', 'c', '1']], 80, paint);
    expect(colored.split('\n')[1]).toBe('\u001b[31ma\u001b[39m   n     u     c      1');
  });
});

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { painter } from './paint.js';
import { aligned, type Column, renderTable } from './table.js';
import { cellWidth, plain } from './terminal-text.js';

/** Returns columns of rows that are lists of cells. */
function cellsAs(columns: readonly Omit<Column<never>, 'of'>[]): Column<readonly string[]>[] {
  return columns.map((column, at) => ({ ...column, of: (cells) => cells[at]! }));
}

const columns = cellsAs([
  { title: 'id' },
  { title: 'name', shrinkTo: 4 },
  { title: 'user', expendable: 2 },
  { title: 'class', expendable: 1 },
  { title: 'n', align: 'right' },
]);
const rows = [
  ['a', 'a long name', 'ann', 'short', '1'],
  ['bb', 'x', 'bob', 'long', '1,000'],
];
const screen = (columns: number) => painter({ color: false, columns });

describe('a table', () => {
  it('is aligned, with numbers on the right', () => {
    expect(renderTable(columns, rows, screen(80))).toBe(
      [
        'id  name         user  class      n',
        'a   a long name  ann   short      1',
        'bb  x            bob   long   1,000',
      ].join('\n'),
    );
  });

  it('cuts names of any script', () => {
    const names = [['a', 'проект alpha beta', 'ann', 'short', '1']];
    expect(renderTable(columns, names, screen(30)).split('\n')[1]).toBe('a   проект al…  ann   short  1');
  });

  it('cuts shrinkable columns on a narrow terminal', () => {
    expect(renderTable(columns, rows, screen(30))).toBe(
      [
        'id  name    user  class      n',
        'a   a lon…  ann   short      1',
        'bb  x       bob   long   1,000',
      ].join('\n'),
    );
  });

  it('then drops optional columns', () => {
    expect(renderTable(columns, rows, screen(20))).toBe(
      ['id  name           n', 'a   a long n…      1', 'bb  x          1,000'].join('\n'),
    );
    expect(renderTable(columns, rows, screen(5)).split('\n')[2]).toBe('bb  x     1,000');
  });

  it('has no trailing spaces, with and without colours', () => {
    const empty = [['a', 'b', 'c', 'd', '']];
    const titled = renderTable(
      [...columns.slice(0, 4), { title: '', of: () => '' }],
      empty,
      painter({ color: true }),
    );
    expect(titled).toBe('\u001b[2mid  name  user  class\u001b[22m\na   b     c     d');
  });

  it('is aligned for words of any script, and fits the width if its columns allow it', () => {
    const word = fc.string({
      unit: fc.constantFrom('a', '漢', '😀', 'é', '\u202e', '\u200b', ' ', '\u001b[31m'),
      maxLength: 30,
    });
    const amounts = fc.array(fc.constantFrom('cpu 4,', 'memory 2.5 GiB,', 'gpu 1,'), { maxLength: 6 });
    const table = cellsAs([
      { title: 'name', shrinkTo: 8 },
      { title: 'n', align: 'right' },
      { title: 'has', shrinkTo: 12, wraps: true },
    ]);
    fc.assert(
      fc.property(fc.array(fc.tuple(word, fc.nat(), amounts), { minLength: 1, maxLength: 4 }), (given) => {
        const cells = given.map(([name, n, has]) => [plain(name), String(n), has.join(' ')]);
        const text = renderTable(table, cells, screen(40));
        for (const line of text.split('\n')) expect(cellWidth(line)).toBeLessThanOrEqual(40);
        // Numbers and amounts are never cut.
        for (const [, n, has] of cells)
          for (const each of [n!, ...has!.split(' ')]) expect(text).toContain(each);
      }),
    );
  });

  it('continues wrapped cells on the next line', () => {
    const wraps = cellsAs([{ title: 'id' }, { title: 'does', shrinkTo: 8, wraps: true }, { title: 'n' }]);
    expect(renderTable(wraps, [['a', 'lists all of them', '1']], screen(19))).toBe(
      ['id  does          n', 'a   lists all of  1', '    them'].join('\n'),
    );
  });

  it('counts wide characters twice, and does not cut one in half', () => {
    const wide = [['a', '東京都庁', 'ann', 'short', '1']];
    expect(renderTable(columns, wide, screen(80)).split('\n')[1]).toBe('a   東京都庁  ann   short  1');
    expect(renderTable(columns, wide, screen(26)).split('\n')[1]).toBe('a   東京…   ann   short  1');
  });

  it('ignores colours in widths', () => {
    const colored = renderTable(columns, [['\u001b[31ma\u001b[39m', 'n', 'u', 'c', '1']], screen(80));
    expect(colored.split('\n')[1]).toBe('\u001b[31ma\u001b[39m   n     u     c      1');
  });
});

it('rows are lines with aligned columns', () => {
  const rows = [
    ['', 'jobs', ''],
    ['all', '12,345', 's'],
    ['the others', '7', ''],
  ];
  expect(aligned(rows)).toEqual(['              jobs', 'all         12,345  s', 'the others       7']);
  expect(aligned([])).toEqual([]);
});

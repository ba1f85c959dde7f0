import { expect, test } from 'vitest';
import { comparisonCsv, csvOf } from './csv.js';
import { sample } from './sample-runs.fixture.js';

test('records become rows, nested values columns by their path', () => {
  expect(
    csvOf([
      { name: 'a, "b"', options: { cap: 1, list: [1, 2] }, none: null },
      { name: 'c', options: { cap: 2 }, more: true },
    ]),
  ).toBe('name,options.cap,options.list,none,more\n"a, ""b""",1,"[1,2]",,\nc,2,,,true');
});

test('a name that a spreadsheet would read as a formula is escaped', () => {
  expect(csvOf([{ name: '=cmd()', change: -0.5 }])).toBe("name,change\n'=cmd(),-0.5");
});

test('a comparison has one row per run, with the keys of its JSON', () => {
  const { comparison } = sample();
  const [head, ...rows] = comparisonCsv(comparison).split('\n');
  expect(rows).toHaveLength(comparison.runs.length);
  const columns = head!.split(',');
  expect(columns).toEqual(expect.arrayContaining(['policy', 'seed', 'runtimeSeconds.short.p50', 'workload']));
  expect(columns.some((column) => column.startsWith('series'))).toBe(false);
  const p50 = rows[0]!.split(',')[columns.indexOf('runtimeSeconds.short.p50')];
  expect(Number(p50)).toBe(comparison.runs[0]!.runtimeSeconds.short.p50);
});

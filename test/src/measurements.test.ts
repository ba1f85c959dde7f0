import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { FIGURES } from '@goshawk/papers/figures';
import { expect, test } from 'vitest';
import { measurementsPage, readMeasurements, withMeasured } from './measurements.js';

const ROOT = join(import.meta.dirname, '../..');
const PAGE = 'docs/MEASUREMENTS.md';
const LINES_MAX = 400;

const measurements = readMeasurements();

function check(path: string, text: string): void {
  if (process.env.UPDATE_GOLDEN === '1') writeFileSync(join(ROOT, path), text);
  else expect(readFileSync(join(ROOT, path), 'utf8')).toBe(text);
}

test('docs/MEASUREMENTS.md matches the data (UPDATE_GOLDEN=1 writes it)', () => {
  check(PAGE, measurementsPage(measurements));
});

test('tables of measurements in other documents match the data (UPDATE_GOLDEN=1 writes them)', () => {
  const paths = execFileSync('git', ['ls-files', '*.md'], { cwd: ROOT, encoding: 'utf8' })
    .trim()
    .split('\n')
    .filter((path) => readFileSync(join(ROOT, path), 'utf8').includes('<!-- measured '));
  expect(paths).toContain('README.md');
  for (const path of paths) check(path, withMeasured(readFileSync(join(ROOT, path), 'utf8'), measurements));
});

test('docs/MEASUREMENTS.md is one page that a person reads', () => {
  expect(measurementsPage(measurements).trim().split('\n').length).toBeLessThanOrEqual(LINES_MAX);
});

test('the table of claims has all claims of each figure, in their present words', () => {
  const rows = measurements.get('figures')!.tables[0]!.rows.map((row) => row.map(String));
  const printed = new Map<string, string[]>();
  let id = '';
  for (const [run, section, text] of rows) {
    id = /^`goshawk figure ([^ `]+)/.exec(run!)?.[1] ?? id;
    printed.set(id, [...(printed.get(id) ?? []), `${section} ${text}`]);
  }
  const figures = FIGURES.filter((figure) => printed.has(figure.id));
  expect(figures).toHaveLength(printed.size);
  const claims = figures.map((figure) => [
    figure.id,
    figure.claims.map(({ section, text }) => `${section} ${text}`),
  ]);
  expect(Object.fromEntries(printed)).toEqual(Object.fromEntries(claims));
});

test('a document may not name a missing table', () => {
  expect(() => withMeasured('<!-- measured nothing 0 -->\n<!-- end -->', measurements)).toThrow(
    'nothing.json',
  );
});

import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ALL_POLICY_NAMES } from '@goshawk/policies';
import { expect, test } from 'vitest';
import { measurementsPage, readMeasurements, withMeasured } from './measurements.js';

const ROOT = join(import.meta.dirname, '../..');
const PAGE = 'docs/MEASUREMENTS.md';

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

test('tables that compare goshawk with other policies show it first', () => {
  const policies = new Set(ALL_POLICY_NAMES);
  const policyIn = (cell: unknown): string | undefined => {
    const [name] = String(cell).split(/[:, ]/);
    return policies.has(name!) || name!.endsWith('.js') ? name : undefined;
  };
  const firstOf = (cells: readonly unknown[]): string | undefined => {
    const named = cells.flatMap((cell) => policyIn(cell) ?? []);
    return named.includes('goshawk') ? named[0] : undefined;
  };
  for (const [file, { tables }] of measurements)
    for (const { columns, rows } of tables) {
      const byColumn = columns.map((_, at) => firstOf(rows.map((row) => row[at])));
      const first = firstOf(columns) ?? byColumn.find((each) => each !== undefined);
      if (first !== undefined) expect(first, file).toBe('goshawk');
    }
});

test('a document may not name a missing table', () => {
  expect(() => withMeasured('<!-- measured nothing 0 -->\n<!-- end -->', measurements)).toThrow(
    'nothing.json',
  );
});

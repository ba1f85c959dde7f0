import { expect, test } from 'vitest';
import { percentile, report, result, table } from './bench-report.js';

test('percentiles are by nearest rank', () => {
  expect(percentile([5, 1, 3], 0.5)).toBe(3);
  expect(percentile([4, 1, 2, 3], 0.5)).toBe(2);
  expect(percentile([1, 2], 0.99)).toBe(2);
  expect(percentile([], 0.5)).toBeNaN();
});

test('a report contains the machine and the median of the runs', () => {
  const { schema, bench, machine, results } = report('x', [result('speed', 'messages/s', [3, 1, 2])]);
  expect([schema, bench]).toStrictEqual(['goshawk.bench/1', 'x']);
  expect(machine.cores).toBeGreaterThan(0);
  expect(results).toStrictEqual([{ name: 'speed', unit: 'messages/s', value: 2, runs: [3, 1, 2] }]);
});

test('a table is aligned', () => {
  expect(
    table([
      ['name', 'value'],
      ['a', '1'],
      ['longer', '20'],
    ]),
  ).toBe('name    value\na           1\nlonger     20');
});

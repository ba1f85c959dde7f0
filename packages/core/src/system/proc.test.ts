import { expect, test } from 'vitest';
import { hasExited, parseProcessStat, processNumbers, statusBytes } from './proc.js';

const STAT =
  '4711 (a) Z (b 1) S 42 4700 4700 34816 4711 4194304 2177 0 3 0 17 5 0 0 20 0 11 0 9182736 1100000000 12000 18446744073709551615';

test('the fields of a process are found, whatever its name contains', () => {
  expect(parseProcessStat(STAT)).toEqual({
    state: 'S',
    parent: 42,
    group: 4700,
    session: 4700,
    childTicks: 0,
    processorTicks: 22,
    start: 9182736,
    isExiting: false,
    waitStatus: 0,
  });
});

test('a process that exits shows how it ended', () => {
  const exiting = STAT.replace(' 4194304 ', ' 4227076 ');
  const { isExiting, waitStatus } = parseProcessStat(`${exiting}${' 0'.repeat(26)} 256\n`);
  expect({ isExiting, waitStatus }).toEqual({ isExiting: true, waitStatus: 256 });
});

test('zombies and dead processes have exited', () => {
  expect(['R', 'S', 'Z', 'X', 'T'].map((state) => hasExited({ state }))).toEqual([
    false,
    false,
    true,
    true,
    false,
  ]);
});

test('an ended process has no memory', () => {
  expect(statusBytes('VmPeak:\t  100 kB\nVmHWM:\t   12 kB\n', 'VmHWM')).toBe(12 * 1_024);
  expect(statusBytes('State:\tZ (zombie)\n', 'VmHWM')).toBeUndefined();
});

test('entries of /proc that are not processes are skipped', () => {
  expect(processNumbers(['1', 'self', '42', 'sys', '4a'])).toEqual([1, 42]);
});

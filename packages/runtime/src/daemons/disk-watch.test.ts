import { expect, test } from 'vitest';
import { DiskWatch } from './disk-watch.js';

const MIB = 1024 * 1024;

function bench(free: Record<string, number>) {
  const reports: string[] = [];
  const measured: string[] = [];
  const watch = new DiskWatch(
    Object.keys(free),
    (problem) => reports.push(problem),
    (folder) => {
      measured.push(folder);
      if (Number.isNaN(free[folder])) throw new Error('gone');
      return free[folder]! * MIB;
    },
  );
  const check = (): string[] => {
    watch.check(0);
    return reports.splice(0);
  };
  return { watch, check, reports, measured };
}

test('a full disk is reported at each check, until there is clearly room', () => {
  const free = { '/tmp': 100, '/data': 15.5 };
  const { check } = bench(free);
  const full = ['the disk of /data is full: 15 MiB are free, and tasks need 32 MiB'];
  expect(check()).toEqual(full);
  expect(check()).toEqual(full);
  free['/data'] = 31;
  expect(check()).toHaveLength(1);
  free['/data'] = 32;
  expect(check()).toEqual([]);
  free['/data'] = 17;
  expect(check()).toEqual([]);
});

test('a disk that cannot be measured is not full', () => {
  const { check } = bench({ '/tmp': Number.NaN });
  expect(check()).toEqual([]);
});

test('failed tasks cause a check, but at most two a second', () => {
  const { watch, reports, measured } = bench({ '/tmp': 1 });
  for (let now = 10_000; now < 11_000; now += 10) watch.taskFailed(now);
  expect(measured).toHaveLength(2);
  expect(reports).toHaveLength(2);
});

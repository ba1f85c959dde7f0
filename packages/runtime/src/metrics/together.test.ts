import { Histogram } from '@goshawk/core';
import { expect, test } from 'vitest';
import { byLabel, exposition, type Readings } from './exposition.js';
import { combineReadings, counted } from './together.js';

function readings(jobs: number, commitMs: number): Readings {
  const commits = new Histogram([1, 5]);
  commits.add(commitMs);
  return {
    goshawk_scheduler_jobs: byLabel('state', { waiting: jobs, running: 1 }),
    goshawk_scheduler_jobs_accepted_total: jobs,
    goshawk_scheduler_known_workers: 7,
    goshawk_journal_commit_seconds: commits,
    goshawk_journal_disk_free_bytes: undefined,
  };
}

test('counters of several schedulers in a process add up, and shared observations do not', () => {
  const both = combineReadings([readings(2, 3), readings(3, 9)]);
  const lines = exposition(both)
    .split('\n')
    .filter((line) => !line.startsWith('#'));
  expect(lines).toEqual([
    'goshawk_scheduler_jobs{state="waiting"} 5',
    'goshawk_scheduler_jobs{state="running"} 2',
    'goshawk_scheduler_jobs_accepted_total 5',
    'goshawk_scheduler_known_workers 7',
    'goshawk_journal_commit_seconds_bucket{le="0.001"} 0',
    'goshawk_journal_commit_seconds_bucket{le="0.005"} 1',
    'goshawk_journal_commit_seconds_bucket{le="+Inf"} 2',
    'goshawk_journal_commit_seconds_sum 0.012',
    'goshawk_journal_commit_seconds_count 2',
    '',
  ]);
  // Merging does not change the inputs.
  expect(exposition(combineReadings([readings(2, 3)]))).toEqual(exposition(readings(2, 3)));
});

test('the counts of a removed machine stay', () => {
  expect(Object.keys(counted(readings(2, 3)))).toEqual([
    'goshawk_scheduler_jobs_accepted_total',
    'goshawk_journal_commit_seconds',
  ]);
});

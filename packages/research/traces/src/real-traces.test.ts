import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { preparePrototype } from './prototype.js';
import { traceStats } from './stats/stats.js';
import { openWorkload } from './workload.js';

const TRACES = join(import.meta.dirname, '../../../../../shared/traces');
const GOOGLE = join(TRACES, 'google-sub.tr');
const YAHOO = join(TRACES, 'yahoo-sub.tr');
const TABLES = join(TRACES, 'google2011');

it.skipIf(!existsSync(GOOGLE))(
  'google-sub.tr has its known figures (skipped without the real trace)',
  async () => {
    const workload = await openWorkload(GOOGLE);
    const stats = await traceStats(workload.jobs(), { workers: [15_000] });
    expect(stats).toMatchObject({ jobs: 9939, tasks: 309_560, firstSubmitSeconds: 0, spanSeconds: 29_969 });
    expect(stats.tasksPerJob).toMatchObject({ p50: 1, p90: 21, p99: 954, max: 4950 });
    expect(Math.round(stats.taskDurationSeconds.p50)).toBe(310);
    expect(Math.round(stats.taskDurationSeconds.p90)).toBe(2166);
    expect(Math.round(stats.taskDurationSeconds.p99)).toBe(14_052);
    expect(Math.round(stats.taskDurationSeconds.max)).toBe(326_131);
    expect(Math.round(stats.taskSecondsPerSecond!)).toBe(13_464);
    expect(stats.offeredLoad[0]!.load).toBeCloseTo(0.9, 2);
    expect(stats.longestTenth.taskSecondsShare).toBeCloseTo(0.787, 3);
    expect(stats.longestTenth.tasksShare).toBeCloseTo(0.212, 3);
    expect(Math.round(stats.longestTenth.cutoffSeconds)).toBe(919);
    expect(stats.longestTenth.durationRatioByTask).toBeCloseTo(13.7, 1);
    expect(stats.longestTenth.durationRatioByJob).toBeCloseTo(24.3, 1);
  },
);

it.skipIf(!existsSync(YAHOO))(
  'yahoo-sub.tr has its known figures (skipped without the real trace)',
  async () => {
    const stats = await traceStats((await openWorkload(YAHOO)).jobs());
    expect(stats).toMatchObject({ jobs: 2910, tasks: 122_878, spanSeconds: 25_805 });
    expect(Math.round(stats.taskSecondsPerSecond!)).toBe(3227);
    expect(stats.longestTenth.taskSecondsShare).toBeCloseTo(0.987, 3);
    // Two consecutive blanks are one separator: no task takes 0 s.
    expect(stats.jobMeanDurationSeconds.p50).toBeGreaterThan(1);
  },
);

it.skipIf(!existsSync(GOOGLE))(
  'google-sub.tr fits 100 workers (skipped without the real trace)',
  async () => {
    const workload = await openWorkload(GOOGLE);
    const prepared = await preparePrototype(workload.jobs(), { workers: 100, jobs: 3300, scale: 1000 });
    expect(prepared.jobs).toHaveLength(3300);
    expect(prepared.workloadJobs).toBe(9939);
    expect(Math.max(...prepared.jobs.map((job) => job.durationsSeconds.length))).toBe(100);
    expect(prepared.jobs.every((job) => job.durationsSeconds.length >= 1)).toBe(true);
  },
);

it.skipIf(!existsSync(TABLES))(
  'the first parts of the official Google tables have their known figures (skipped without them)',
  async () => {
    const workload = await openWorkload(TABLES);
    // The numbers were counted from the files independently.
    expect(workload.jobCount).toBe(5339);
    expect(Object.fromEntries(workload.tallied.map(({ code, count }) => [code, count]))).toEqual({
      'jobs-before-trace': 3986,
      'jobs-cut-off': 226,
      'jobs-nothing-finished': 1283,
      'jobs-partly-finished': 1032,
      'tasks-evicted': 2,
      'tasks-failed': 690,
      'tasks-killed': 33_593,
      'tasks-run-again': 3453,
    });
    const stats = await traceStats(workload.jobs());
    expect(stats.tasks).toBe(130_889);
    expect(stats.firstSubmitSeconds).toBe(604.046279);
    expect(stats.users!.count).toBe(77);
  },
);

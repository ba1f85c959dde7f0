import { describe, expect, it } from 'vitest';
import { jobOf } from '../job.js';
import { formatStats } from './format.js';
import { traceStats } from './stats.js';

/**
 * Ten jobs, one every 10 s: nine with one task of 1 s … 9 s, and one with three tasks of 50, 100 and 150 s.
 */
const JOBS = [
  ...Array.from({ length: 9 }, (_, i) => ({
    ...jobOf(100 + 10 * i, Float64Array.of(i + 1)),
    user: i < 5 ? 'ann' : 'bob',
  })),
  { ...jobOf(190, Float64Array.of(50, 100, 150)), user: 'eve' },
];

describe('traceStats', () => {
  it('counts jobs and summarises by nearest rank', async () => {
    const stats = await traceStats(JOBS, { workers: [1, 10] });
    expect(stats).toMatchObject({
      schema: 'goshawk.trace-stats/1',
      jobs: 10,
      tasks: 12,
      taskSeconds: 345,
      firstSubmitSeconds: 100,
      spanSeconds: 90,
      arrivals: { jobsPerSecond: 10 / 90, meanInterarrivalSeconds: 10, interarrivalSpread: 0 },
      taskSecondsPerSecond: 345 / 90,
      offeredLoad: [
        { workers: 1, load: 345 / 90 },
        { workers: 10, load: 34.5 / 90 },
      ],
      tasksPerJob: { count: 10, mean: 1.2, p50: 1, p90: 1, p99: 3, max: 3 },
      taskDurationSeconds: { count: 12, p50: 6, p90: 100, max: 150 },
      jobMeanDurationSeconds: { p50: 5, p90: 9, p99: 100, max: 100 },
      spreadWithinJobs: { count: 1, p50: Math.sqrt(5000 / 3) / 100 },
      longestTenth: {
        jobs: 1,
        cutoffSeconds: 100,
        taskSecondsShare: 300 / 345,
        tasksShare: 0.25,
        durationRatioByTask: 20,
        durationRatioByJob: 20,
      },
    });
    expect(stats.users?.count).toBe(3);
    expect(stats.users?.heaviest.map(({ user, jobs, taskSeconds }) => [user, jobs, taskSeconds])).toEqual([
      ['eve', 1, 300],
      ['bob', 4, 30],
      ['ann', 5, 15],
    ]);
  });

  it('compares short and long jobs, if a cutoff is given', async () => {
    const { classes } = await traceStats(JOBS, { cutoffSeconds: 9 });
    expect(classes).toMatchObject({
      cutoffSeconds: 9,
      short: {
        jobs: 8,
        jobsShare: 0.8,
        tasksShare: 8 / 12,
        taskSecondsShare: 36 / 345,
        tasksPerJob: { max: 1 },
      },
      long: {
        jobs: 2,
        jobsShare: 0.2,
        tasksShare: 4 / 12,
        taskSecondsShare: 309 / 345,
        tasksPerJob: { count: 2, mean: 2, max: 3 },
        taskDurationSeconds: { count: 4, mean: 309 / 4, max: 150 },
      },
    });
    const none = await traceStats(JOBS, { cutoffSeconds: 1_000 });
    expect(none.classes?.long).toMatchObject({ jobs: 0, taskSecondsShare: 0, tasksPerJob: null });
    expect(formatStats(none)).toMatch(/long jobs( +0\.0%){3}( +–){6}/);
    expect(await traceStats(JOBS)).not.toHaveProperty('classes');
  });

  it('does not depend on the order of the jobs', async () => {
    expect(await traceStats(JOBS.toReversed())).toEqual(await traceStats(JOBS));
  });

  it('measures the offered load in CPUs, as simulations do', async () => {
    const stats = await traceStats(
      JOBS.map((job) => ({ ...job, demand: { cpu: 4 } })),
      { workers: [10] },
    );
    expect(stats).toMatchObject({
      taskSecondsPerSecond: 345 / 90,
      offeredLoad: [{ workers: 10, load: (4 * 34.5) / 90 }],
    });
  });

  it('has nulls for undefined values', async () => {
    const stats = await traceStats([jobOf(5, Float64Array.of(2))]);
    expect(stats).toMatchObject({
      taskSecondsPerSecond: null,
      offeredLoad: [],
      spreadWithinJobs: null,
      users: null,
    });
    expect(stats.arrivals.meanInterarrivalSeconds).toBeNull();
    expect(stats.longestTenth).toMatchObject({ taskSecondsShare: 1, durationRatioByTask: null });
    expect(JSON.parse(JSON.stringify(stats))).toEqual(stats);
    expect(formatStats(stats)).toMatch(/^1 job, 1 task, 2 task seconds\nall submitted at once/);
  });

  it('refuses a workload without jobs', async () => {
    await expect(traceStats([])).rejects.toThrow('the workload has no jobs');
  });
});

describe('formatStats', () => {
  it('is a readable table', async () => {
    expect(formatStats(await traceStats(JOBS, { workers: [10] }))).toMatchInlineSnapshot(`
      "10 jobs, 12 tasks, 345 task seconds
      submitted over 90 s, one every 10 s (spread 0; Poisson has 1)

                                      mean    p50    p90    p99    max
      tasks per job                    1.2      1      1      3      3
      task duration, s                28.8      6    100    150    150
      jobs' mean duration, s          14.5      5      9    100    100
      jobs' task seconds              34.5      5      9    300    300
      spread within jobs (std/mean)  0.408  0.408  0.408  0.408  0.408

      longest 10% of jobs (mean task duration from 100 s): 87.0% of task seconds, 25.0% of tasks
        their durations are 20 times the others' by task, 20 times by job
      3.83 task seconds per second; load offered to workers
        10: 38.3%

      3 users; the heaviest
      user  jobs  tasks  task seconds
      eve      1      3         87.0%
      bob      4      4          8.7%
      ann      5      5          4.3%
      "
    `);
  });
});

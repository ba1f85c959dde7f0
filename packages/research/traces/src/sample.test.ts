import { Random, sumOf } from '@goshawk/core';
import { describe, expect, it } from 'vitest';
import { collect, jobOf, type TraceJob } from './job.js';
import { limitTasks, sampleJobs, sampleTrace } from './sample.js';
import { Tally } from './tally.js';

describe('sampleJobs', () => {
  const jobs = Array.from({ length: 100 }, (_, i) => jobOf(i % 10, Float64Array.of(i)));

  it('draws without replacement and keeps the order of submission', async () => {
    const { sample, total } = await sampleJobs(jobs, 30, Random.seeded(1));
    expect(total).toBe(100);
    expect(sample).toHaveLength(30);
    expect(new Set(sample).size).toBe(30);
    const submits = sample.map((job) => job.submitSeconds);
    expect(submits).toEqual(submits.toSorted((a, b) => a - b));
  });

  it('keeps every job if there are no more than requested', async () => {
    const { sample } = await sampleJobs(jobs, 100, Random.seeded(1));
    expect(new Set(sample)).toEqual(new Set(jobs));
  });

  it('draws each job equally often', async () => {
    const taken = new Map<TraceJob, number>();
    for (let seed = 0; seed < 2000; seed++) {
      const { sample } = await sampleJobs(jobs, 10, Random.seeded(seed));
      for (const job of sample) taken.set(job, (taken.get(job) ?? 0) + 1);
    }
    // Each is expected 200 times, with a standard deviation of 13.
    expect(Math.min(...taken.values())).toBeGreaterThan(140);
    expect(Math.max(...taken.values())).toBeLessThan(260);
  });
});

/** A hundred jobs, one every 10 s, of 1 to 10 tasks. */
const JOBS = Array.from({ length: 100 }, (_, i) =>
  jobOf(
    10 * i,
    Float64Array.from({ length: 1 + (i % 10) }, (_, task) => i + task / 16),
  ),
);

describe('sampleTrace', () => {
  it('yields all jobs by default', async () => {
    const tally = new Tally();
    expect(await collect(sampleTrace(JOBS, {}, tally))).toEqual(JOBS);
    expect(tally.list()).toEqual([]);
  });

  it('draws random jobs reproducibly for a seed and counts the others', async () => {
    const tally = new Tally();
    const sample = await collect(sampleTrace(JOBS, { jobs: 30 }, tally));
    expect(sample).toHaveLength(30);
    expect(tally.list()).toMatchObject([{ code: 'jobs-not-drawn', count: 70 }]);
    expect(await collect(sampleTrace(JOBS, { jobs: 30, seed: 1 }))).toEqual(sample);
    expect(await collect(sampleTrace(JOBS, { jobs: 30, seed: 2 }))).not.toEqual(sample);
  });

  it('selects a window, without its end, with times relative to its start', async () => {
    const tally = new Tally();
    const window = await collect(sampleTrace(JOBS, { fromSeconds: 100, toSeconds: 200 }, tally));
    expect(window.map((job) => job.submitSeconds)).toEqual([0, 10, 20, 30, 40, 50, 60, 70, 80, 90]);
    expect(window[0]!.durationsSeconds).toBe(JOBS[10]!.durationsSeconds);
    expect(tally.list()).toMatchObject([{ code: 'jobs-outside-window', count: 90 }]);
    expect(await collect(sampleTrace(JOBS, { fromSeconds: 980 }))).toHaveLength(2);
    expect(await collect(sampleTrace(JOBS, { toSeconds: 20 }))).toEqual(JOBS.slice(0, 2));
  });

  it('has no binary rounding errors in the times', async () => {
    const [job] = await collect(sampleTrace([jobOf(604.046279, Float64Array.of(1))], { fromSeconds: 600.1 }));
    expect(job!.submitSeconds).toBe(3.946279);
  });

  it('draws the jobs from the window', async () => {
    const options = { fromSeconds: 500, jobs: 5 };
    const sample = await collect(sampleTrace(JOBS, options));
    expect(sample).toHaveLength(5);
    expect(sample.every((job) => job.submitSeconds < 500)).toBe(true);
  });

  it('limits the tasks of each job, and counts the others', async () => {
    const tally = new Tally();
    const limited = await collect(sampleTrace(JOBS, { tasksMax: 4 }, tally));
    expect(limited.map((job) => job.durationsSeconds.length)).toEqual(
      JOBS.map((job) => Math.min(4, job.durationsSeconds.length)),
    );
    expect(tally.list()).toMatchObject([{ code: 'tasks-not-drawn', count: 10 * (1 + 2 + 3 + 4 + 5 + 6) }]);
  });

  it.each([
    [{ jobs: 0 }, 'jobs is 0; use a whole number of at least 1'],
    [{ tasksMax: 1.5 }, 'tasksMax is 1.5'],
    [{ fromSeconds: -1 }, 'fromSeconds is -1; use a number of seconds, at least 0'],
    [{ fromSeconds: 5, toSeconds: 5 }, 'the window from 5 s to 5 s is empty; it must end after it begins'],
    [{ toSeconds: 0 }, 'the window from 0 s to 0 s is empty'],
    [
      { fromSeconds: 2000 },
      "no job is submitted from 2000 s on; the workload's jobs are submitted from 0 s to 990 s",
    ],
    [{ fromSeconds: 1, toSeconds: 9 }, 'no job is submitted from 1 s to 9 s;'],
  ])('refuses %j', async (options, message) => {
    await expect(collect(sampleTrace(JOBS, options))).rejects.toThrow(message);
  });

  it('refuses a workload without jobs', async () => {
    await expect(collect(sampleTrace([], {}))).rejects.toThrow('the workload has no jobs');
  });
});

describe('limitTasks', () => {
  const ten = jobOf(
    0,
    Float64Array.from({ length: 10 }, (_, i) => i),
  );

  it('keeps the order, and draws each task equally often', () => {
    const taken = new Array<number>(10).fill(0);
    for (let seed = 0; seed < 2000; seed++) {
      const { durationsSeconds } = limitTasks(ten, 3, Random.seeded(seed));
      expect(durationsSeconds).toEqual(durationsSeconds.toSorted());
      for (const task of durationsSeconds) taken[task]!++;
    }
    // Each is expected 600 times, with a standard deviation of 20.
    expect(Math.min(...taken)).toBeGreaterThan(500);
    expect(Math.max(...taken)).toBeLessThan(700);
  });

  it('recomputes the mean, or keeps the relative error of a stated mean', () => {
    const { durationsSeconds, meanSeconds } = limitTasks(ten, 3, Random.seeded(1));
    expect(meanSeconds).toBe(sumOf(durationsSeconds) / 3);
    const stated = limitTasks({ ...ten, meanSeconds: 9 }, 3, Random.seeded(1));
    expect(stated.meanSeconds).toBeCloseTo(2 * meanSeconds, 9);
    const idle = { ...jobOf(0, new Float64Array(4)), meanSeconds: 2 };
    expect(limitTasks(idle, 2, Random.seeded(1)).meanSeconds).toBe(2);
  });

  it("keeps each stage's proportion and at least one task", () => {
    const staged: TraceJob = {
      ...ten,
      stages: [
        { name: 'map', after: [], tasks: 7 },
        { name: 'reduce', after: [0], tasks: 3 },
      ],
    };
    const { durationsSeconds, stages } = limitTasks(staged, 5, Random.seeded(1));
    expect(stages!.map((stage) => stage.tasks)).toEqual([3, 2]);
    expect(durationsSeconds.subarray(0, 3).every((duration) => duration < 7)).toBe(true);
    expect(durationsSeconds.subarray(3).every((duration) => duration >= 7)).toBe(true);
    expect(limitTasks(staged, 1, Random.seeded(1)).durationsSeconds).toHaveLength(2);
  });
});

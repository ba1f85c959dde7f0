import { Random, sumOf } from '@goshawk/core';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { exponential } from './draws.js';
import { WorkloadError } from './errors.js';
import { configureGenerator } from './generators/index.js';
import { jobOf, type TraceJob } from './job.js';
import { drawArrivals, fifoMakespan, preparePrototype, scaleTasks, scaleToCluster } from './prototype.js';

const durations = fc
  .array(fc.double({ min: 0.001, max: 1e6, noNaN: true }), { minLength: 1, maxLength: 300 })
  .map((list) => Float64Array.from(list));

describe('scaleTasks', () => {
  it('keeps the task seconds and at least one task', () => {
    fc.assert(
      fc.property(durations, fc.double({ min: 0.001, max: 1, noNaN: true }), (before, factor) => {
        const scaled = scaleTasks(jobOf(3, before), factor, Random.seeded(1));
        expect(scaled.durationsSeconds.length).toBe(Math.max(1, Math.round(before.length * factor)));
        expect(sumOf(scaled.durationsSeconds) / sumOf(before)).toBeCloseTo(1, 9);
        expect(scaled.meanSeconds * scaled.durationsSeconds.length).toBeCloseTo(sumOf(before), 3);
        expect(scaled.submitSeconds).toBe(3);
      }),
    );
  });

  it('keeps the spread of the durations within the job', () => {
    const random = Random.seeded(4);
    const before = Float64Array.from({ length: 1000 }, () => exponential(random, 10));
    const { durationsSeconds } = scaleTasks(jobOf(0, before), 0.05, random);
    const spread = (values: Float64Array) => {
      const mean = sumOf(values) / values.length;
      return Math.sqrt(sumOf(values.map((value) => (value - mean) ** 2)) / values.length) / mean;
    };
    expect(durationsSeconds.length).toBe(50);
    expect(spread(durationsSeconds) / spread(before)).toBeCloseTo(1, 0);
    expect(durationsSeconds).not.toEqual(durationsSeconds.toSorted());
  });

  it('scales each stage separately, and estimates, limits and the deadline with the durations', () => {
    const job = {
      ...jobOf(0, Float64Array.of(1, 2, 3, 4, 5, 6, 100, 300)),
      stages: [
        { name: 'map', after: [], tasks: 6 },
        { name: 'reduce', after: [0], tasks: 2 },
      ],
      estimateSeconds: 40,
      timeoutSeconds: 500,
      timeLimitSeconds: 600,
      deadlineSeconds: 700,
      maxRunning: 5,
    };
    const scaled = scaleTasks(job, 0.5, Random.seeded(1));
    expect(scaled.stages!.map((stage) => stage.tasks)).toEqual([3, 1]);
    expect(sumOf(scaled.durationsSeconds.subarray(0, 3))).toBeCloseTo(21, 9);
    expect(scaled.durationsSeconds[3]).toBeCloseTo(400, 9);
    expect(scaled).toMatchObject({ estimateSeconds: 80, timeoutSeconds: 1000, maxRunning: 3 });
    expect(scaled).toMatchObject({ timeLimitSeconds: 1200, deadlineSeconds: 1400 });
    expect(scaleTasks(job, 0.01, Random.seeded(1)).stages!.map((stage) => stage.tasks)).toEqual([1, 1]);
  });

  it('handles durations of 0 s', () => {
    const before = Float64Array.of(0, 0, 0, 0, 8);
    expect([...scaleTasks(jobOf(0, before), 0.4, Random.seeded(1)).durationsSeconds].sort()).toEqual([4, 4]);
  });

  it('keeps a workload whose largest job fits the cluster', () => {
    const jobs = [jobOf(0, new Float64Array(10).fill(1)), jobOf(1, new Float64Array(3).fill(1))];
    expect(scaleToCluster(jobs, 10, Random.seeded(1))).toEqual({ jobs, taskFactor: 1 });
    expect(scaleToCluster(jobs, 5, Random.seeded(1)).jobs.map((job) => job.durationsSeconds.length)).toEqual([
      5, 2,
    ]);
  });
});

it('drawArrivals spreads the jobs over the span, in order', () => {
  const jobs = Array.from({ length: 1000 }, () => jobOf(0, Float64Array.of(1)));
  const submits = drawArrivals(jobs, 500, Random.seeded(1)).map((job) => job.submitSeconds);
  expect(submits).toEqual(submits.toSorted((a, b) => a - b));
  expect(submits[0]).toBeGreaterThan(0);
  expect(submits.at(-1)).toBeLessThan(500);
  expect(submits[499]! / 250).toBeCloseTo(1, 0);
});

describe('fifoMakespan', () => {
  it('assigns each task to the first free slot', () => {
    const jobs = [
      jobOf(0, Float64Array.of(4, 1)),
      jobOf(0.5, Float64Array.of(2)),
      jobOf(10, Float64Array.of(1)),
    ];
    expect(fifoMakespan(jobs, 1)).toBe(11);
    expect(fifoMakespan(jobs.slice(0, 2), 1)).toBe(7);
    expect(fifoMakespan(jobs.slice(0, 2), 2)).toBe(4);
    expect(fifoMakespan(jobs.slice(0, 2), 3)).toBe(4);
  });

  it('waits until enough CPUs are free for a task', () => {
    const job = (submit: number, seconds: number, cpu: number) => ({
      ...jobOf(submit, Float64Array.of(seconds)),
      demand: { cpu },
    });
    expect(fifoMakespan([job(0, 4, 3), job(0, 4, 2), job(0, 1, 1)], 4)).toBe(8);
    expect(fifoMakespan([job(0, 4, 3), job(0, 4, 1), job(0, 1, 1)], 4)).toBe(5);
    expect(fifoMakespan([job(0, 4, 0.5), job(0, 4, 0.3), job(0, 4, 0.2), job(0, 4, 0.1)], 1)).toBe(8);
    expect(fifoMakespan([job(0, 4, 9), job(1, 1, 1)], 4)).toBe(5);
  });

  it('is between the work divided by the slots and the work', () => {
    fc.assert(
      fc.property(
        fc.array(durations, { minLength: 1, maxLength: 5 }),
        fc.integer({ min: 1, max: 20 }),
        (all, slots) => {
          const makespan = fifoMakespan(
            all.map((each) => jobOf(0, each)),
            slots,
          );
          const work = sumOf(all.map((each) => sumOf(each)));
          const longest = Math.max(...all.map((each) => Math.max(...each)));
          expect(makespan).toBeGreaterThanOrEqual(Math.max(work / slots, longest) * (1 - 1e-12));
          expect(makespan).toBeLessThanOrEqual((work / slots + longest) * (1 + 1e-12));
        },
      ),
    );
  });
});

describe('preparePrototype', () => {
  const taskSeconds = (jobs: readonly TraceJob[]) => sumOf(jobs.map((job) => sumOf(job.durationsSeconds)));
  const google = () => configureGenerator('google-like:jobs=2000,seed=5').generate();

  it('fits the workload to the cluster and keeps its work', async () => {
    const prepared = await preparePrototype(google(), { workers: 50, slots: 2, jobs: 1500, scale: 1000 });
    expect(prepared.jobs).toHaveLength(1500);
    expect(prepared.workloadJobs).toBe(2000);
    expect(Math.max(...prepared.jobs.map((job) => job.durationsSeconds.length))).toBe(100);
    expect(prepared.taskFactor).toBeLessThan(1);
    const whole = await preparePrototype(google(), { workers: 50, slots: 2, scale: 1000 });
    expect((taskSeconds(whole.jobs) * 1000) / taskSeconds([...google()])).toBeCloseTo(1, 6);
    expect(prepared.divisor).toBe(1000);
  });

  it('submits the requested load over its span', async () => {
    const prepared = await preparePrototype(google(), { workers: 100, load: 0.7 });
    expect((taskSeconds(prepared.jobs) * 1000) / prepared.spanMs / 100).toBeCloseTo(0.7, 9);
    expect(prepared.jobs.at(-1)!.submitSeconds * 1000).toBeLessThan(prepared.spanMs);
  });

  it('submits the requested load in CPUs, and fits the CPUs of the largest job to the cluster', async () => {
    const jobs = Array.from({ length: 20 }, (_, i) => ({
      ...jobOf(i, new Float64Array(i === 0 ? 10 : 2).fill(1)),
      ...(i < 10 ? { demand: { cpu: 4 } } : {}),
    }));
    const prepared = await preparePrototype(jobs, { workers: 10, slots: 2, load: 0.5, scale: 1 });
    expect(prepared.taskFactor).toBe(20 / 40);
    const cpuSeconds = 4 * 10 + 9 * 4 * 2 + 10 * 2;
    expect(cpuSeconds / (prepared.spanMs / 1_000) / 20).toBeCloseTo(0.5, 9);
  });

  it('chooses the divisor for the run time', async () => {
    const whole = await preparePrototype(google(), { workers: 100, forSeconds: 30 });
    expect(whole.estimatedRunMs).toBeCloseTo(30_000, 6);
    expect(whole.spanMs).toBeLessThan(30_000);
    expect(fifoMakespan(whole.jobs, 100)).toBeCloseTo(30, 9);

    const usual = await preparePrototype(google(), { workers: 100 });
    expect(usual.estimatedRunMs).toBeCloseTo(60_000, 6);
  });

  it('reports the run time of the longest task', async () => {
    const jobs = Array.from({ length: 10 }, (_, i) => jobOf(i, Float64Array.of(i + 1)));
    const prepared = await preparePrototype(jobs, { workers: 4, scale: 10 });
    expect(prepared.longestTaskMs).toBeCloseTo(1_000, 9);
  });

  it('is reproducible for a seed and differs for another', async () => {
    const submits = async (seed: number) =>
      (await preparePrototype(google(), { workers: 100, jobs: 100, seed })).jobs.map(
        (job) => job.submitSeconds,
      );
    expect(await submits(1)).toEqual(await submits(1));
    expect(await submits(1)).not.toEqual(await submits(2));
  });

  it('keeps all fields of a job, with its times divided', async () => {
    const job = {
      ...jobOf(0, Float64Array.of(1)),
      name: 'n',
      user: 'u',
      logicalName: 'l',
      stages: [{ name: 's', after: [], tasks: 1 }],
      demand: { cpu: 2 },
      weight: 3,
      retries: 1,
    };
    const times = { estimateSeconds: 3, deadlineSeconds: 20, timeoutSeconds: 5 };
    const { jobs } = await preparePrototype([{ ...job, ...times }], { workers: 1, scale: 10 });
    expect(jobs[0]).toEqual({
      ...job,
      submitSeconds: expect.any(Number),
      durationsSeconds: Float64Array.of(0.1),
      meanSeconds: 0.1,
      ...{ estimateSeconds: 0.3, deadlineSeconds: 2, timeoutSeconds: 0.5 },
    });
  });

  it.each([
    [{ workers: 0 }, 'workers is 0; use a whole number of at least 1'],
    [{ workers: 1, slots: 1.5 }, 'slots is 1.5'],
    [{ workers: 1, jobs: 0 }, 'jobs is 0'],
    [{ workers: 1, load: 0 }, 'load is 0; use a number above 0'],
    [{ workers: 1, scale: Number.NaN }, 'scale is NaN'],
    [{ workers: 1, scale: 1, forSeconds: 1 }, '`scale` and `forSeconds` cannot be used together'],
  ])('refuses %j', async (options, message) => {
    await expect(preparePrototype([jobOf(0, Float64Array.of(1))], options)).rejects.toThrow(message);
  });

  it('rejects a workload without jobs or without work', async () => {
    await expect(preparePrototype([], { workers: 1 })).rejects.toThrow('the workload has no jobs');
    const idle = preparePrototype([jobOf(0, Float64Array.of(0))], { workers: 1 });
    await expect(idle).rejects.toThrow(WorkloadError);
    const onGpus = { ...jobOf(0, Float64Array.of(1)), demand: { gpu: 1 } };
    await expect(preparePrototype([onGpus], { workers: 1 })).rejects.toThrow(
      'no task of the workload needs a CPU',
    );
  });
});

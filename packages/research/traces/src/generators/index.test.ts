import { nearestRank, sumOf } from '@goshawk/core';
import { describe, expect, it } from 'vitest';
import type { TraceJob } from '../job.js';
import { configureGenerator, GENERATORS } from './index.js';

function jobsOf(spec: string): TraceJob[] {
  return [...configureGenerator(spec).generate()];
}

function percentile(values: readonly number[], percent: number): number {
  return nearestRank(Float64Array.from(values).sort(), percent);
}

describe.each(Object.keys(GENERATORS))('generator %s', (name) => {
  const spec = `${name}:jobs=200,seed=3`;

  it('yields the requested number of jobs in order of submission, with tasks that take time', () => {
    const jobs = jobsOf(spec);
    expect(jobs.length).toBe(200);
    expect(configureGenerator(spec).jobCount).toBe(200);
    let latest = 0;
    for (const { submitSeconds, durationsSeconds, meanSeconds } of jobs) {
      expect(submitSeconds).toBeGreaterThanOrEqual(latest);
      latest = submitSeconds;
      expect(durationsSeconds.length).toBeGreaterThanOrEqual(1);
      expect(durationsSeconds.every((seconds) => seconds >= 0 && seconds < Infinity)).toBe(true);
      expect(meanSeconds).toBeCloseTo(sumOf(durationsSeconds) / durationsSeconds.length, 3);
    }
  });

  it('yields the same jobs for the same options, and others for another seed', () => {
    expect(jobsOf(spec)).toEqual(jobsOf(spec));
    expect(jobsOf(`${name}:jobs=200,seed=4`)).not.toEqual(jobsOf(spec));
  });

  it('states all of its options', () => {
    const { canonical } = configureGenerator(spec);
    expect(canonical.startsWith(`${name}:jobs=200,`)).toBe(true);
    expect(configureGenerator(canonical).canonical).toBe(canonical);
  });
});

describe('dag-like', () => {
  it.each([
    ['tpc-ds', 8, 23],
    ['tpc-h', 8, 12],
    ['bigbench', 7, 19],
    ['microsoft', 13, 121],
  ])('has as many stages as the jobs of %s, within a tenth, and one last stage', (shape, p50, p95) => {
    const jobs = jobsOf(`dag-like:jobs=2000,shape=${shape}`);
    const stages = jobs.map((job) => job.stages!.length);
    expect(Math.abs(percentile(stages, 50) / p50 - 1)).toBeLessThan(0.1);
    expect(Math.abs(percentile(stages, 95) / p95 - 1)).toBeLessThan(0.1);
    for (const { stages = [] } of jobs) {
      const before = new Set(stages.flatMap(({ after }) => after));
      expect(stages.filter((_, place) => !before.has(place)).length).toBe(1);
    }
  });
});

describe('mixed', () => {
  const jobs = jobsOf('mixed:jobs=400,seed=5');
  const partOf = (part: string) => jobs.filter(({ name }) => name === part);

  it('has the stated numbers of jobs of each part and each user', () => {
    const count = (of: (job: TraceJob) => string | undefined) => {
      const counts: Record<string, number> = {};
      for (const job of jobs) counts[of(job)!] = (counts[of(job)!] ?? 0) + 1;
      return counts;
    };
    expect(count(({ name }) => name)).toEqual({ interactive: 240, batch: 80, gang: 40, gpu: 40 });
    expect(count(({ user }) => user)).toEqual({ ana: 200, ben: 133, cleo: 67 });
  });

  it('has parts with GPU tasks, with stages, and with gangs that fit the cluster and have deadlines', () => {
    for (const job of jobs) {
      const { name, demand, stages, gang, deadlineSeconds, meanSeconds, durationsSeconds } = job;
      expect(demand?.gpu).toBe(name === 'gpu' ? 1 : undefined);
      expect(stages?.map(({ after }) => after)).toEqual(name === 'batch' ? [[], [0], [1]] : undefined);
      expect(gang).toBe(name === 'gang' ? true : undefined);
      if (name !== 'gang') expect(deadlineSeconds).toBeUndefined();
      else {
        expect(durationsSeconds.length).toBeLessThanOrEqual(5);
        expect([2, 4, 8]).toContain(Math.round(deadlineSeconds! / meanSeconds));
      }
    }
    const seconds = partOf('interactive').map(({ meanSeconds }) => meanSeconds);
    expect(percentile(seconds, 50)).toBeCloseTo(2, 0);
    expect(percentile(seconds, 99)).toBeLessThan(15);
  });

  it.each([
    ['', 0.9, 20],
    [',load=0.5,workers=40', 0.5, 40],
    [',scale=10', 0.9, 20],
  ])('offers the load that is asked for: %s', (options, load, workers) => {
    const many = jobsOf(`mixed:jobs=4000${options}`);
    const work = sumOf(many, ({ durationsSeconds, demand, stages = [] }) => {
      if (demand !== undefined) return sumOf(durationsSeconds) * demand.cpu!;
      let first = 0;
      return sumOf(stages, (stage) => {
        first += stage.tasks;
        return sumOf(durationsSeconds.subarray(first - stage.tasks, first)) * stage.demand!.cpu!;
      });
    });
    expect(work / many.at(-1)!.submitSeconds / (4 * workers)).toBeCloseTo(load, 2);
  });

  it('names its cluster', () => {
    const cluster = { workers: 12, cpus: 4, resources: 'memory=8GiB,gpu=1' };
    expect(configureGenerator('mixed:workers=12').cluster).toEqual(cluster);
    expect(configureGenerator('google-like').cluster).toBeUndefined();
  });
});

describe('packing', () => {
  it.each([
    ['uniform,0.1,0.9', 0.5],
    ['0.4,0.6', 0.5],
    ['0.2:2,0.5:1', 0.3],
  ])('has sizes %s, and as much work as the load says', (sizes, mean) => {
    for (const arrivals of ['poisson', 'bernoulli', 'continuous']) {
      const jobs = jobsOf(`packing:jobs=20000,sizes=${sizes},arrivals=${arrivals},load=0.8,mean=50`);
      const shares = jobs.map(({ demand }) => demand!.cpu! / 4);
      expect(sumOf(shares) / jobs.length).toBeCloseTo(mean, 2);
      const work = sumOf(jobs.map(({ meanSeconds }, at) => meanSeconds * shares[at]!));
      expect(work / jobs.at(-1)!.submitSeconds / 5).toBeCloseTo(0.8, 1);
    }
  });

  it.each([
    ['arrivals=bernoulli,mean=5', /the load needs 1.80 jobs per second; bernoulli allows at most one/],
    ['mean=0.5', /mean is 0.5; geometric durations are at least one second/],
  ])('refuses %s, with which there would be another load', (options, message) => {
    expect(() => jobsOf(`packing:${options}`)).toThrow(message);
  });
});

describe('a specification', () => {
  it.each([
    ['hawk:jobs=1', /^unknown generator 'hawk'; known generators are google-like, prototype, motivation, /],
    ['motivation:task=3', /^motivation has no option 'task'; its options are jobs, interarrival, seed$/],
    ['motivation:toString=3', /^motivation has no option 'toString'/],
    ['motivation:jobs', /^motivation: option jobs has no value; write jobs=VALUE with a whole number/],
    [
      'packing:sizes=uniform,0.1',
      /^packing: sizes is 'uniform,0.1'; write sizes=VALUE with uniform,LOW,HIGH or /,
    ],
    ['packing:sizes=0,0.5', /^packing: sizes is '0,0.5'/],
    [
      'motivation:jobs=0',
      /^motivation: jobs is '0'; write jobs=VALUE with a whole number of at least 1 \(default 1000\)$/,
    ],
    ['motivation:jobs=1.5', /jobs is '1.5'/],
    ['motivation:jobs=many', /jobs is 'many'/],
    ['motivation:jobs=', /jobs is ''/],
    ['motivation:interarrival=-5', /interarrival is '-5'; .* a number above zero/],
    ['motivation:seed=-1', /seed is '-1'; .* a whole number of at least 0/],
    ['motivation:jobs=1,jobs=2', /option jobs is set twice/],
    ['yahoo:deviation=some', /deviation is 'some'; write deviation=VALUE with twice-mean or root/],
  ])('`%s` is refused', (spec, message) => {
    expect(() => configureGenerator(spec)).toThrow(message);
  });

  it('may have blanks around its parts, and no options', () => {
    expect(configureGenerator('motivation: jobs = 5 , seed=2 ').canonical).toBe(
      'motivation:jobs=5,interarrival=50,seed=2',
    );
    expect(configureGenerator('motivation').jobCount).toBe(1000);
  });
});

describe('motivation', () => {
  it('is the scenario of Hawk §2.3', () => {
    const jobs = jobsOf('motivation');
    const short = jobs.filter((job) => job.meanSeconds === 100);
    const long = jobs.filter((job) => job.meanSeconds === 20_000);
    expect([short.length, long.length]).toEqual([950, 50]);
    expect(short.every((job) => job.durationsSeconds.length === 100)).toBe(true);
    expect(long.every((job) => job.durationsSeconds.length === 1000)).toBe(true);
    const meanGap = jobs.at(-1)!.submitSeconds / (jobs.length - 1);
    expect(meanGap).toBeGreaterThan(45);
    expect(meanGap).toBeLessThan(55);
  });
});

describe('google-like', () => {
  it('has exactly a tenth of long jobs, and Google-like percentiles even in a small sample', () => {
    const jobs = jobsOf('google-like:jobs=9939');
    const means = jobs.map((job) => job.meanSeconds);
    expect(means.filter((mean) => mean >= 919)).toHaveLength(993);
    expect(percentile(means, 50)).toBeCloseTo(97.9, -1);
    const tasks = jobs.map((job) => job.durationsSeconds.length);
    expect(percentile(tasks, 50)).toBe(1);
    expect(percentile(tasks, 90)).toBeCloseTo(21.5, -1);
    expect(percentile(tasks, 99)).toBeGreaterThan(900);
  });

  it('offers the load that is asked for', () => {
    const jobs = jobsOf('google-like:jobs=50000,load=0.5,workers=1000');
    const taskSeconds = jobs.reduce((total, job) => total + sumOf(job.durationsSeconds), 0);
    expect(taskSeconds / jobs.at(-1)!.submitSeconds / 1000).toBeCloseTo(0.5, 1);
  });
});

describe('prototype', () => {
  it('has 3,300 jobs of at most as many tasks as workers, at the given load', () => {
    const jobs = jobsOf('prototype');
    expect(jobs).toHaveLength(3300);
    expect(Math.max(...jobs.map((job) => job.durationsSeconds.length))).toBe(100);
    const taskSeconds = jobs.reduce((total, job) => total + sumOf(job.durationsSeconds), 0);
    expect(taskSeconds / jobs.at(-1)!.submitSeconds / 100).toBeCloseTo(0.9, 1);
  });
});

describe.each([
  ['cloudera', 0.0502],
  ['facebook', 0.0201],
  ['yahoo', 0.094],
])('%s', (name, longShare) => {
  it('offers the requested load with short jobs and a few long jobs', () => {
    const jobs = jobsOf(`${name}:jobs=20000,load=0.8`);
    const workers = GENERATORS[name]!.options.workers!.default as number;
    const taskSeconds = jobs.reduce((total, job) => total + sumOf(job.durationsSeconds), 0);
    const load = taskSeconds / jobs.at(-1)!.submitSeconds / workers;
    // Rare jobs have much of the work, so the load of a sample varies.
    expect(load).toBeGreaterThan(0.5);
    expect(load).toBeLessThan(1.2);
    const cutoff = percentile(
      jobs.map((job) => job.meanSeconds),
      100 * (1 - longShare),
    );
    const long = jobs.filter((job) => job.meanSeconds > cutoff);
    const longTaskSeconds = long.reduce((total, job) => total + sumOf(job.durationsSeconds), 0);
    expect(longTaskSeconds / taskSeconds).toBeGreaterThan(0.6);
  });
});

describe('yahoo', () => {
  it('with deviation=root has the percentiles of the Yahoo trace of the Hawk simulations', () => {
    const jobs = jobsOf('yahoo:deviation=root');
    const tasks = jobs.map((job) => job.durationsSeconds.length);
    const means = jobs.map((job) => job.meanSeconds);
    // The values of yahoo-sub.tr are 15 and 57 tasks, and 15.6 and 81.5 s.
    expect(percentile(tasks, 50)).toBe(15);
    expect(percentile(tasks, 90) / 57).toBeCloseTo(1, 0);
    expect(percentile(means, 50) / 15.6).toBeCloseTo(1, 1);
    expect(percentile(means, 90) / 81.5).toBeCloseTo(1, 1);
  });
});

describe('poisson', () => {
  it('draws exponential durations, or uses constant ones', () => {
    const all = jobsOf('poisson:jobs=2000,mean=8').flatMap((job) => [...job.durationsSeconds]);
    expect(sumOf(all) / all.length / 8).toBeCloseTo(1, 1);
    expect(percentile(all, 50) / 8).toBeCloseTo(Math.LN2, 1);
    const constant = jobsOf('poisson:jobs=5,tasks=2,mean=8,durations=constant');
    expect(constant.map((job) => [...job.durationsSeconds])).toEqual(Array(5).fill([8, 8]));
  });
});

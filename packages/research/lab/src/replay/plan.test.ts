import { type PolicyOptions, policyRecord, policySettings } from '@goshawk/command/policy';
import { countTasks, parseJobSpec, sumOf } from '@goshawk/core';
import { addPapers } from '@goshawk/papers';
import { arrivingJobOf, openWorkload, packed } from '@goshawk/traces';
import { describe, expect, it } from 'vitest';
import { survey } from '../simulate/survey.js';
import { plannedJob } from './ended-job.fixture.js';
import { type PlanOptions, planReplay } from './plan.js';

addPapers();

const options: PlanOptions = {
  workers: 20,
  slots: 1,
  jobs: 300,
  load: 0.9,
  seed: 3,
  scale: undefined,
  forMs: 4_000,
  estimator: 'oracle',
};

async function plan(changes: Partial<PlanOptions> = {}) {
  const workload = await openWorkload('google-like:jobs=400,seed=2');
  return planReplay(workload, workload.jobs(), { ...options, ...changes });
}

describe('planReplay', () => {
  it('creates jobs that a scheduler accepts, in order of submission', async () => {
    const { jobs, workload, fit } = await plan();
    expect(jobs).toHaveLength(300);
    let last = 0;
    for (const job of jobs) {
      expect(job.submitMs).toBeGreaterThanOrEqual(last);
      last = job.submitMs;
      const spec = parseJobSpec(job.input);
      expect(countTasks(spec.stages[0]!.tasks)).toBe(job.tasks);
      expect(spec.estimateMs).toBe(job.estimateMs);
      expect(job.taskMs / job.tasks).toBeCloseTo(job.trueMeanMs, 9);
    }
    expect(workload).toMatchObject({ jobs: 300, tasks: sumOf(jobs, ({ tasks }) => tasks) });
    expect(workload.taskSeconds).toBeCloseTo(sumOf(jobs, ({ taskMs }) => taskMs) / 1_000, 9);
    expect(workload.name).toMatch(/^google-like:jobs=400/);
    expect(workload.sha256).toMatch(/^[0-9a-f]{64}$/);
    expect(workload.spanSeconds).toBeLessThan(fit.spanMs / 1_000);
  });

  it('keeps gangs only for policies that start them', async () => {
    const workload = await openWorkload('mixed:jobs=40,seed=2');
    const of = (startsGangs: boolean) =>
      planReplay(workload, workload.jobs(), { ...options, jobs: 40, startsGangs });
    const [together, apart] = [(await of(true)).jobs, (await of(false)).jobs];
    expect(together.some(({ spec }) => spec.stages.some(({ gang }) => gang))).toBe(true);
    expect(apart.some(({ spec }) => spec.stages.some(({ gang }) => gang))).toBe(false);
    expect(apart.map(({ submitMs, tasks, taskMs }) => ({ submitMs, tasks, taskMs }))).toEqual(
      together.map(({ submitMs, tasks, taskMs }) => ({ submitMs, tasks, taskMs })),
    );
  });

  it('computes the same class as estimators for a job at the cutoff', async () => {
    for (const { job, trueMeanMs } of (await plan()).jobs)
      expect(trueMeanMs).toBe(arrivingJobOf(job).trueMeanMs);
  });

  it('takes about the requested time, or divides by the given scale', async () => {
    expect((await plan()).fit.estimatedRunMs).toBeCloseTo(4_000, 6);
    expect((await plan({ forMs: undefined })).fit.estimatedRunMs).toBeCloseTo(60_000, 6);
    expect((await plan({ forMs: undefined, scale: 1_000 })).fit.divisor).toBe(1_000);
  });

  it('is reproducible for a seed, including drawn estimates', async () => {
    const estimator = 'noisy:0.5-1.5';
    expect(await plan({ estimator })).toEqual({
      ...(await plan({ estimator })),
      facts: expect.anything(),
      needs: expect.anything(),
    });
    const again = await plan({ estimator, seed: 4 });
    expect(again.jobs[0]!.submitMs).not.toBe((await plan({ estimator })).jobs[0]!.submitMs);
  });

  it("keeps a job's stages, the submitter's estimate and the tasks' demands", async () => {
    const staged = {
      submitSeconds: 0,
      durationsSeconds: Float64Array.of(10, 20, 30, 40),
      meanSeconds: 25,
      name: 'sort',
      estimateSeconds: 50,
      demand: { cpu: 1 },
      stages: [
        { name: 'map', after: [], tasks: 3 },
        { name: 'reduce', after: [0], tasks: 1, demand: { cpu: 2 } },
      ],
      maxRunning: 2,
      timeoutSeconds: 100,
    };
    const workload = { name: 'w', sha256: async () => '' };
    async function* jobs() {
      yield staged;
    }
    const given = { ...options, forMs: undefined, scale: 1_000, estimator: 'given' };
    const { jobs: planned } = await planReplay(workload, jobs(), given);
    const sleeps = (...all: number[]) => ({ each: all.map((sleep) => ({ sleep })) });
    expect(parseJobSpec(planned[0]!.input)).toMatchObject({
      name: 'sort',
      estimateMs: 50,
      maxRunning: 2,
      timeoutMs: 100,
      stages: [
        { name: 'map', after: [], tasks: sleeps(10, 20, 30), demand: { cpu: 1 } },
        { name: 'reduce', after: [0], tasks: sleeps(40), demand: { cpu: 2 } },
      ],
    });
  });

  it('offers the requested load', async () => {
    const { fit, jobs } = await plan({ load: 0.5, slots: 2 });
    const taskMs = jobs.reduce((sum, job) => sum + job.taskMs, 0);
    expect(taskMs / (fit.spanMs * 40)).toBeCloseTo(0.5, 9);
  });
});

describe('facts of a plan', async () => {
  const job = (trueMeanMs: number, tasks: number) => plannedJob({ trueMeanMs, tasks }).job;
  const jobs = [...Array.from({ length: 9 }, (_, i) => job(10 * (i + 1), 1)), job(1_000, 2)];
  const surveyed = await survey({ name: 'jobs', sha256: async () => '', tallied: [] }, [packed(jobs)]);
  const facts = { ...surveyed.facts, divisor: 50 };
  const given: PolicyOptions = {
    policy: 'hawk',
    estimator: 'oracle',
    pilotRatio: '3%',
    pilotsMax: undefined,
    thinLimit: 3,
    historyFeatures: undefined,
    set: [],
    shareBy: undefined,
    decisionInterval: undefined,
    cutoff: undefined,
    shortPartition: undefined,
    probeRatio: 2,
    probeDraw: 'distinct',
    stealCap: 10,
    stealLimit: undefined,
    stealRetry: 'backoff',
    cancel: 'proactive',
    reserve: 'auto',
    lend: 'all',
    seek: 2,
    bitmap: 'auto',
    matching: 'auto',
    series: 'auto',
    central: true,
    partition: true,
    stealing: true,
  };

  it('describe the jobs as executed', () => {
    expect(facts.meanP90Ms).toBe(90);
    expect(facts.shareBelow(90)).toBeCloseTo(360 / 2_450, 12);
    expect(facts.shareBelow(0)).toBe(0);
    expect(facts.shareBelow(1e9)).toBeCloseTo(1, 12);
  });

  it('decide the cutoff and the short partition by default', () => {
    const settings = policySettings(given, 'hawk', facts);
    expect(settings.cutoffMs).toBe(90);
    expect(settings.shortPartition).toBeCloseTo(360 / 2_450, 12);
    expect(policySettings({ ...given, cutoff: 'p90', shortPartition: 'auto' }, 'hawk', facts)).toEqual(
      settings,
    );
  });

  it("scale a policy's job sizes down to their minimum", () => {
    const optionsOf = (policy: string, set: string[], divisor: number) =>
      policySettings({ ...given, set }, policy, { ...facts, divisor }).preset.decidedBy.options;
    const set = ['cycleMs=10000', 'startGrid=0,10,45', 'vSlo=20'];
    expect(optionsOf('3sigma-sched', set, 20)).toEqual({
      cycleMs: 500,
      startGrid: '0,0.5,2.25',
      beLengthMs: 900_000,
      defaultRuntimeMs: 30_000,
      vSlo: 20,
    });
    expect(optionsOf('3sigma-sched', set, 1)).toEqual({ cycleMs: 10_000, startGrid: '0,10,45', vSlo: 20 });
    expect(optionsOf('3sigma-sched', set, 1e6)).toMatchObject({ cycleMs: 10 });
    expect(optionsOf('gs', ['baseMs=100000'], 50)).toEqual({ baseMs: 2_000 });
  });

  it('scale the bitmap and series intervals with the cutoff by default', () => {
    const bitmapMs = (options: { cutoff?: string; bitmap?: string }) =>
      policySettings({ ...given, ...options }, 'goshawk-peer').bitmapMs;
    expect(bitmapMs({ cutoff: '50' })).toBe(500);
    expect(bitmapMs({ cutoff: '0' })).toBe(100);
    expect(bitmapMs({ cutoff: '1e5' })).toBe(10_000);
    expect(bitmapMs({ bitmap: '3s' })).toBe(3_000);
    expect(bitmapMs({ bitmap: 'none' })).toBe(0);
    const seriesMs = (options: { cutoff?: string; series?: string }) =>
      policySettings({ ...given, ...options }, 'goshawk').seriesMs;
    expect(seriesMs({ cutoff: '0.5' })).toBe(5);
    expect(seriesMs({ cutoff: '981' })).toBe(100);
    expect(seriesMs({ series: '20ms' })).toBe(20);
    expect(seriesMs({ series: 'none' })).toBe(0);
    expect(policySettings({ ...given, matching: 'never' }, 'goshawk').preset.short.by).toBe('seeking');
  });

  it('set the probe defaults of the papers, or the best ones if workers seek', () => {
    const probing = (policy: string, said: Partial<Pick<PolicyOptions, 'cancel' | 'probeDraw'>> = {}) => {
      const options = { ...given, cancel: undefined, probeDraw: undefined, ...said };
      const { cancel, probeDraw } = policySettings(options, policy);
      return [cancel, probeDraw];
    };
    expect(probing('hawk')).toEqual(['lazy', 'independent']);
    expect(probing('goshawk-peer')).toEqual(['proactive', 'distinct']);
    expect(probing('hawk', { probeDraw: 'distinct' })).toEqual(['lazy', 'distinct']);
    expect(probing('goshawk-peer', { cancel: 'lazy' })).toEqual(['lazy', 'distinct']);
  });

  it('leave the estimator to the schedulers unless it needs the truth', () => {
    const estimatorOf = (estimator: string) => policySettings({ ...given, estimator }, 'hawk').estimator;
    expect(['oracle', 'noisy:0.5-2', 'given', 'pilot'].map(estimatorOf)).toEqual([
      ...['given', 'given', 'given'],
      'pilot',
    ]);
  });

  it('use few pilots by default if jobs are matched', () => {
    const pilots = (options: Partial<typeof given>, policy: string) => {
      const { pilotsMax, pilotQuorum, pilotPrior } = policySettings({ ...given, ...options }, policy);
      return [pilotsMax, pilotQuorum, pilotPrior];
    };
    expect(pilots({}, 'hawk')).toEqual([null, 1, false]);
    expect(pilots({}, 'goshawk')).toEqual([3, 0.5, true]);
    expect(pilots({ pilotsMax: 0 }, 'goshawk')).toEqual([null, 0.5, true]);
    expect(pilots({ pilotsMax: 7 }, 'hawk')).toEqual([7, 1, false]);
  });

  it('create the queues of gs for job sizes of the workload, scaled as its durations', () => {
    const queues = (options: Partial<typeof given>) => policySettings({ ...given, ...options }, 'gs', facts);
    expect(queues({}).preset.decidedBy.options).toEqual({ baseMs: 20_000 });
    expect(queues({ set: ['queues=3', 'baseMs=5000'] }).preset.decidedBy.options).toEqual({
      queues: 3,
      baseMs: 100,
    });
    // The estimator waits for all of SLearn's samples.
    expect(queues({})).toMatchObject({ pilotsMax: null, pilotQuorum: 1 });
  });

  it('pass options to the policy of central', () => {
    const decidedBy = (set: string | string[], policy = 'bfjs') =>
      policySettings({ ...given, set: [set].flat() }, policy).preset.decidedBy;
    expect(decidedBy('stall=true,decisionIntervalMs=100')).toEqual({
      policy: 'bfjs',
      options: { stall: true, decisionIntervalMs: 100 },
    });
    expect(() => decidedBy('stal=true')).toThrow('policy bfjs has no option "stal"');
    expect(() => decidedBy('decisionIntervalMs=soon')).toThrow('bfjs: decisionIntervalMs: expected a number');
    expect(() => decidedBy('stall')).toThrow('--set: "stall" is not NAME=VALUE');
    expect(decidedBy(['stall=true', 'decisionIntervalMs=100'])).toEqual(
      decidedBy('stall=true,decisionIntervalMs=100'),
    );
    expect(() => decidedBy(['stall=true', 'stall=false'])).toThrow('--set names stall twice');
    expect(() => decidedBy('stall=yes')).toThrow('bfjs: stall: expected a boolean, got "yes"');
    expect(() => decidedBy('stall=true', 'hawk')).toThrow('policy hawk has no option "stall"');
  });

  it('keep the queues of gs if another option is given', () => {
    const { options } = policySettings(
      { ...given, estimator: 'las', set: ['queues=3', 'weightRatio=2'] },
      'gs',
    ).preset.decidedBy;
    expect(options).toMatchObject({ queues: 3, by: 'service', weightRatio: 2 });
    expect(() => policySettings({ ...given, set: ['by=service'] }, 'gs')).toThrow('--set by: gs takes');
  });

  it('are reproduced by the options of a result', () => {
    for (const [policy, set] of [
      ['bfjs', ['decisionIntervalMs=100', 'stall=true']],
      ['gs', ['weightRatio=2']],
      ['goshawk', undefined],
    ] as const)
      expect(policyRecord(policySettings({ ...given, set: set ?? [] }, policy)).set).toEqual(set);
  });

  it('accept an order of gs as an estimator only under gs', () => {
    expect(policySettings({ ...given, estimator: 'las' }, 'gs').estimator).toBe('las');
    expect(() => policySettings({ ...given, estimator: 'las' }, 'hawk')).toThrow(
      '--estimator las is an ordering of policy gs',
    );
  });

  it('accept the ratio of pilots as a share or a percentage', () => {
    const ratioOf = (pilotRatio: string) => policySettings({ ...given, pilotRatio }, 'hawk').pilotRatio;
    expect(['3%', '0.03', '2.5%', '1', 'adaptive'].map(ratioOf)).toEqual([0.03, 0.03, 0.025, 1, 'adaptive']);
    for (const wrong of ['', '3', '101%', '-1', 'x']) expect(() => ratioOf(wrong)).toThrow('--pilot-ratio');
  });

  it('accept a cutoff in seconds of the workload and scale it as the durations', () => {
    expect(policySettings({ ...given, cutoff: '5' }, 'hawk', facts).cutoffMs).toBe(100);
    expect(policySettings({ ...given, cutoff: '5' }, 'hawk').cutoffMs).toBe(5_000);
  });
});

import { DEFAULT_POLICY, PRESETS } from '@goshawk/core';
import { openWorkload } from '@goshawk/traces';
import { beforeAll, describe, expect, it } from 'vitest';
import type { PolicyRun } from './contract.js';
import { planReplay, type ReplayPlan } from './plan.js';
import { optionsRecord } from './run-policy.js';
import { misfitLines, planLines, progressNote, runLines } from './wording.js';

let plan: ReplayPlan;
beforeAll(async () => {
  const workload = await openWorkload('motivation:jobs=200');
  plan = await planReplay(workload, workload.jobs(), {
    workers: 100,
    slots: 1,
    jobs: 100,
    load: 0.9,
    seed: 1,
    scale: 1_000,
    forMs: undefined,
    estimator: 'oracle',
  });
});

const settings = { ...DEFAULT_POLICY, cutoffMs: 5_000, shortPartition: 0.17 };

describe('text before a run', () => {
  it('describes the fitted workload and the division of its jobs', () => {
    const long = plan.jobs.filter((job) => job.trueMeanMs >= 5_000).length;
    expect(long).toBeGreaterThan(0);
    const lines = planLines(plan, { load: 0.9, workers: 100 }, settings);
    expect(lines).toEqual([
      expect.stringMatching(/^motivation:jobs=200,.*: 100 of 200 jobs with [\d,]+ tasks$/),
      'durations divided by 1,000; jobs have 1/10 of their tasks, each 10 times as long',
      expect.stringMatching(/^submitted over .* for a load of 90%; a policy takes about .*$/),
      expect.stringMatching(
        new RegExp(
          `^${100 - long} short jobs \\(mean task below 5 s, [\\d.]+% of the work\\), ${long} long ones$`,
        ),
      ),
      'hawk keeps 17 of 100 workers free of long tasks',
    ]);
  });

  it('warns if the cutoff of a cluster does not fit the workload', () => {
    const fitting = plan.facts.meanP90Ms;
    expect(misfitLines(plan, { ...settings, cutoffMs: fitting })).toEqual([]);
    const [line, ...more] = misfitLines(plan, { ...settings, cutoffMs: 1e9 });
    expect(line).toMatch(
      /^the cluster’s cutoff of .* exceeds the mean task time of every job; that of the workload, .* are not comparable /,
    );
    expect(more).toEqual([]);
    const longer = { ...plan, facts: { ...plan.facts, meanP90Ms: 1e9 } };
    expect(misfitLines(longer, { ...settings, cutoffMs: 1 })[0]).toContain('makes 100 of 100 jobs long');
  });

  it('omits the partition if there is none', () => {
    const sparrow = { ...settings, policy: 'sparrow', preset: { ...PRESETS.sparrow } };
    expect(planLines(plan, { load: 0.9, workers: 100 }, sparrow)).toHaveLength(4);
  });
});

describe('text during a run', () => {
  const note = (elapsedMs: number, submitted: number, ended: number) =>
    progressNote({ elapsedMs, submitted, ended, submittedTaskMs: 50 * elapsedMs }, plan, 100);

  it('shows the load so far and the time left', () => {
    expect(note(500, 10, 5)).toMatch(/^about .* left$/);
    expect(note(2_000, 10, 5)).toMatch(/^load so far 50%, about .* left$/);
    expect(note(2_000, 100, 5)).toMatch(/^all submitted, about .* left$/);
    expect(note(plan.fit.estimatedRunMs + 100, 100, 99)).toBe('all submitted, almost done');
    expect(note(plan.fit.estimatedRunMs + 3_500, 100, 99)).toBe('all submitted, 4 s longer than estimated');
    expect(note(61_000, 100, 100)).toBe('1 min 1 s');
  });
});

it('reports distortions of the results after a run', () => {
  const done = {
    run: { policy: 'hawk', wallSeconds: 40 },
    loadOffered: 0.8987,
    latenessP99Ms: 3,
    incomplete: [],
  };
  const lines = (changes: object) => runLines({ ...done, ...changes } as unknown as PolicyRun);
  expect(lines({})).toEqual(['hawk: 40 s, offered load 89.9%']);
  expect(lines({ latenessP99Ms: 40 })[1]).toMatch(
    /^ {2}this client fell behind: 1% of the jobs were submitted at least 40 ms late/,
  );
  expect(lines({ incomplete: ['worker w1', 'worker w2'] })[1]).toBe(
    '  messages and steals of worker w1 and 1 more are missing or incomplete',
  );
});

it('records every setting that shaped a run, in seconds of the run', () => {
  const given = { load: 0.9, seed: 3, estimator: 'oracle', attribute: ['rack=r1,r2'], resources: 'cpu=2' };
  const shape = { workers: 100, slots: 1, schedulers: 10 };
  expect(optionsRecord(given, shape, plan, settings)).toEqual({
    policy: 'hawk',
    ...shape,
    ...given,
    jobs: 100,
    scale: 1_000,
    taskFactor: 0.1,
    cutoff: 5,
    shortPartition: 0.17,
    probeRatio: 2,
    probeDraw: 'distinct',
    stealCap: 10,
    stealLimit: null,
    stealRetry: 'backoff',
    stealBackoff: settings.stealBackoffMs / 1_000,
    stealBackoffMax: settings.stealBackoffMaxMs / 1_000,
    cancel: 'proactive',
    reserve: 'auto',
    lend: 'all',
    seek: 1,
    bitmap: settings.bitmapMs / 1_000,
    pilotRatio: 0.03,
    pilotsMax: null,
    thinLimit: 3,
    historyFeatures: null,
    matching: 'auto',
    series: settings.seriesMs / 1_000,
    short: 'probing over all',
    long: 'central over general',
    central: true,
    partition: true,
    stealing: true,
  });
  const sparrow = { ...settings, policy: 'sparrow', preset: { ...PRESETS.sparrow } };
  expect(optionsRecord(given, shape, plan, sparrow)).toMatchObject({
    shortPartition: null,
    central: false,
    partition: false,
    stealing: false,
  });
});

import { optionsGiven } from '@goshawk/command';
import { POLICY_OPTIONS, policySettings } from '@goshawk/command/policy';
import { type JobSpec, NO_RESOURCES } from '@goshawk/core';
import { describe, expect, it } from 'vitest';
import { timesOfJob } from './job-start.js';
import type { Snapshot, SnapshotJob } from './snapshot.js';

const MINUTE = 60_000;

function job(sleepsMs: readonly number[], more: Partial<JobSpec> = {}): SnapshotJob {
  const estimateMs = Math.max(...sleepsMs);
  return {
    spec: {
      ...{ name: 'job', user: 'ann', retries: 0, timeoutMs: undefined, maxRunning: undefined },
      ...{ deadlineMs: undefined, weight: 1, estimateMs },
      stages: [{ name: 'tasks', after: [], tasks: { sleepsMs }, demand: NO_RESOURCES, estimateMs }],
      ...more,
    },
    isAsked: false,
    isRunning: false,
    waits: sleepsMs.map(() => true),
  };
}

function snapshot(jobs: readonly SnapshotJob[], workers = 2): Snapshot {
  const options = optionsGiven(POLICY_OPTIONS, { policy: 'goshawk' });
  return {
    policy: policySettings(options, 'goshawk'),
    schedulers: 1,
    workers: Array.from({ length: workers }, () => ({ slots: 1, capacity: { cpu: 1 }, attributes: {} })),
    jobs,
    assumedRunTimes: 0,
  };
}

const running = (left: readonly number[]): SnapshotJob => ({
  ...job(left),
  isRunning: true,
  waits: left.map(() => false),
});
const asked = (of: SnapshotJob): SnapshotJob => ({ ...of, isAsked: true });

describe('a job that waits for running tasks', () => {
  const present = snapshot([running([2 * MINUTE, 3 * MINUTE]), asked(job([MINUTE]))]);

  it('starts when the first of them ends', async () => {
    const { startMs, endMs } = await timesOfJob(present, {});
    expect(startMs).toBeGreaterThan(MINUTE);
    expect(startMs).toBeLessThanOrEqual(2 * MINUTE);
    expect(endMs! - startMs!).toBeCloseTo(MINUTE, -2);
  });

  it('starts at the same time in a copy for a thread', async () => {
    expect(await timesOfJob(structuredClone(present), {})).toEqual(await timesOfJob(present, {}));
  });

  it('starts at once with another worker', async () => {
    expect((await timesOfJob(present, { workers: 1 })).startMs).toBeLessThan(1_000);
  });

  it('starts under another policy', async () => {
    expect((await timesOfJob(present, { policy: 'sparrow' })).startMs).toBeLessThanOrEqual(2 * MINUTE);
  });

  it('cannot lose all workers, or run under a policy in a file', async () => {
    await expect(timesOfJob(present, { workers: -2 })).rejects.toThrow('only 2 active workers');
    await expect(timesOfJob(present, { policy: './own.mjs' })).rejects.toThrow('is in a file');
  });
});

it('a high priority moves a job ahead of those that wait longer', async () => {
  const others = Array.from({ length: 20 }, () => job([MINUTE]));
  const present = snapshot([running([MINUTE, MINUTE]), ...others, asked(job([MINUTE]))]);
  const [normal, high] = [await timesOfJob(present, {}), await timesOfJob(present, { priority: 'high' })];
  expect(high.startMs).toBeLessThan(normal.startMs!);
});

it('a job that no worker can run has no start', async () => {
  const [stage] = job([MINUTE]).spec.stages;
  const stages = [{ ...stage!, requires: { rack: 'r9' } }];
  const present = snapshot([running([MINUTE]), asked(job([MINUTE], { stages }))]);
  expect(await timesOfJob(present, {})).toEqual({ startMs: null, endMs: null });
});

it('the start is that of the waiting tasks, and the end that of the whole job', async () => {
  const both = asked({ ...job([4 * MINUTE, MINUTE]), isRunning: true, waits: [false, true] });
  const { startMs, endMs } = await timesOfJob(snapshot([both], 1), {});
  expect(startMs! / MINUTE).toBeGreaterThan(3.9);
  expect(endMs! / MINUTE).toBeCloseTo(5, 1);
});

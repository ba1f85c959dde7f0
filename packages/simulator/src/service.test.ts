import {
  type ClusterSettings,
  DEFAULT_POLICY,
  LIVE_TIMINGS,
  type Millis,
  nearestRank,
  type PolicySettings,
  PRESETS,
  parseJobSpec,
  Random,
} from '@goshawk/core';
import { describe, expect, test } from 'vitest';
import { Service } from './service.js';
import { type SimulatedJob, Simulation } from './simulation.js';

test('messages are handled one after another, each for a fixed time', () => {
  const service = new Service(3);
  expect([10, 11].map((at) => service.handledAt(at))).toEqual([13, 16]);
  expect([12, 16, 20].map((at) => service.busyMs(at))).toEqual([2, 6, 6]);
  expect(service.handledAt(20)).toBe(23);
  expect([21, 23, 30].map((at) => service.busyMs(at))).toEqual([7, 9, 9]);
});

/** Central needs this time per message, so it handles a third of a thousand per second. */
const SERVICE_MS = 3;
const UNTIL_MS = 12_000;
const TASK_MS = 50;

/** Returns jobs of four tasks, one every `gapMs` on average. */
function jobs(gapMs: Millis): SimulatedJob[] {
  const random = Random.seeded(`every ${gapMs}`);
  const made: SimulatedJob[] = [];
  const spec = parseJobSpec({
    name: 'short',
    estimate: TASK_MS,
    tasks: { count: 4, run: { sleep: TASK_MS } },
  });
  let at = 0;
  while (at < UNTIL_MS) {
    made.push({ submitMs: at, spec });
    at -= Math.log(1 - random.next()) * gapMs;
  }
  return made;
}

/**
 * @returns the 90th percentile of the jobs' times beyond their tasks, in the second half; and the number of messages
 */
async function delays(gapMs: Millis, matching: PolicySettings['matching']) {
  const settings: ClusterSettings = {
    policy: { ...DEFAULT_POLICY, policy: 'goshawk', preset: { ...PRESETS.goshawk }, matching, seriesMs: 0 },
    timings: LIVE_TIMINGS,
  };
  const cluster = { workers: 50, slots: 1, capacity: {}, schedulers: 4, settings, seed: 'service' };
  const simulation = new Simulation({ ...cluster, centralServiceMs: SERVICE_MS });
  const late: number[] = [];
  let tasks = 0;
  for await (const ended of simulation.run(jobs(gapMs))) {
    for (const { job, endedMs, tasksCompleted } of ended) {
      tasks += tasksCompleted;
      if (job.submitMs > UNTIL_MS / 2) late.push(endedMs - job.submitMs - TASK_MS);
    }
  }
  expect(simulation.activeJobs).toBe(0);
  const submitted = 4 * simulation.jobsSubmitted;
  expect(tasks).toBe(submitted);
  late.sort((one, other) => one - other);
  return { p90: nearestRank(late, 90), messages: simulation.messages };
}

describe('a central that takes time', () => {
  test('matches all short tasks while it can keep up', async () => {
    const { p90, messages } = await delays(50, 'auto');
    expect(p90).toBeLessThan(3 * TASK_MS);
    expect(messages.seek).toBeUndefined();
  });

  test('sheds short jobs when more arrive than it can match, which would otherwise wait ever longer', async () => {
    const overloaded = await delays(12, 'auto');
    expect(overloaded.p90).toBeLessThan(TASK_MS);
    expect(overloaded.messages.seek).toBeGreaterThan(0);
    expect((await delays(12, 'always')).p90).toBeGreaterThan(20 * TASK_MS);
  });
});

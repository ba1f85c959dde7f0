import {
  type Attributes,
  type ClusterSettings,
  DEFAULT_POLICY,
  type JobInput,
  LIVE_TIMINGS,
  mayRun,
  type PolicySettings,
  parseJobSpec,
  Random,
  RELIABLE_TIMINGS,
} from '@goshawk/core';
import { addPapers } from '@goshawk/papers';
import { ALL_POLICY_NAMES, presetNamed } from '@goshawk/policies';
import type { Job } from '@goshawk/scheduler';
import { describe, expect, test } from 'vitest';
import { VirtualCluster } from './virtual-cluster.js';

addPapers();

const WORKERS = 24;
const JOBS = 60;
/** Workers have one of two zones and one of three models, in all combinations. */
const attributesAt = (worker: number): Attributes => ({
  zone: ['eu', 'us'][worker % 2]!,
  model: ['a', 'b', 'c'][Math.floor(worker / 2) % 3]!,
});
const REQUIREMENTS = [
  undefined,
  undefined,
  { zone: 'eu' },
  { zone: 'us', model: ['a', 'b'] },
  { model: 'c' },
];

const CASES: readonly [policy: string, fields: Partial<PolicySettings>][] = [
  ...ALL_POLICY_NAMES.map((policy): [string, Partial<PolicySettings>] =>
    // Its short jobs use only its short partition, which must contain all kinds of workers.
    policy === 'split' ? [policy, { shortPartition: 0.5 }] : [policy, {}],
  ),
  ['hawk', { shortPartition: 0.25, stealRetry: 'backoff' }],
  ['hawk', { stealRetry: 'backoff', estimator: 'pilot' }],
  ['goshawk', { estimator: 'pilot' }],
  ['goshawk-peer', { estimator: 'pilot', seriesMs: 400 }],
  ['sparrow', { probeDraw: 'independent' }],
];

function drawJob(random: Random): JobInput {
  const long = random.next() < 0.2;
  const pick = <T>(of: readonly T[]): T => of[Math.floor(random.next() * of.length)]!;
  const tasks = () =>
    Array.from({ length: 1 + Math.floor(random.next() * 6) }, () => ({
      sleep: (long ? 2_000 : 100) * (0.5 + random.next()),
    }));
  const require = pick(REQUIREMENTS);
  const job = { estimate: long ? 2_000 : 100, ...(require === undefined ? {} : { require }) };
  if (random.next() < 0.7) return { ...job, tasks: tasks() };
  const second = pick(REQUIREMENTS);
  return {
    ...job,
    stages: [
      { name: 'first', tasks: tasks() },
      {
        name: 'second',
        after: ['first'],
        tasks: tasks(),
        ...(second === undefined ? {} : { require: second }),
      },
    ],
  };
}

function run(settings: ClusterSettings, seed: string, slots: number): Job[] {
  const random = Random.seeded(seed);
  const ended: Job[] = [];
  const cluster = new VirtualCluster({
    workers: WORKERS,
    schedulers: 3,
    slots,
    settings,
    seed,
    checked: true,
    attributesOf: (worker) => Object.entries(attributesAt(worker)).map(([name, value]) => ({ name, value })),
    onJobEnd: (job) => ended.push(job),
  });
  let at = 3_000;
  for (let i = 0; i < JOBS; i++) {
    at += 120 * random.next();
    cluster.submitAt(at, i % 3, parseJobSpec(drawJob(random)));
  }
  for (let until = at; ended.length < JOBS && until < at + 600_000; until += 2_000) cluster.run(until);
  const first = cluster.workerAddresses[0]!;
  for (const job of ended) {
    for (const { first: from, count, spec } of job.stages) {
      for (let task = from; task < from + count; task++) {
        const attributes = attributesAt(job.tasks.workerOf(task) - first);
        expect(mayRun({ attributes }, spec), `seed ${seed}: ${job.id}, task ${task}`).toBe(true);
      }
    }
  }
  return ended;
}

describe('every task runs on a worker that meets its requirements, and every job ends', () => {
  test.each(CASES)('%s %o', (policy, fields) => {
    for (const [seed, timings] of [
      ['one', RELIABLE_TIMINGS],
      ['two', LIVE_TIMINGS],
    ] as const) {
      const settings: ClusterSettings = {
        policy: {
          ...DEFAULT_POLICY,
          policy,
          preset: presetNamed(policy),
          cutoffMs: 1_000,
          stealRetry: 'never',
          ...fields,
        },
        timings,
      };
      const ended = run(settings, seed, policy.length % 2 === 0 ? 1 : 2);
      expect(ended.length, `seed ${seed}`).toBe(JOBS);
      expect(ended.every((job) => job.state === 'completed')).toBe(true);
    }
  });
});

import {
  DEFAULT_POLICY,
  NO_RESOURCES,
  POLICY_NAMES,
  type PolicyName,
  type PolicySettings,
  PRESETS,
  parseJobSpec,
  Random,
  RELIABLE_TIMINGS,
} from '@goshawk/core';
import { describe, expect, test } from 'vitest';
import { type SimulatedEnd, type SimulatedJob, Simulation } from './simulation.js';

const CUTOFF_MS = 10_000;

interface Setting {
  readonly workers: number;
  readonly policy?: PolicyName;
  readonly choices?: Partial<PolicySettings>;
  readonly seed?: number;
  readonly delayMs?: number;
}

/** Returns results in job order, with an estimator that samples. */
async function simulate(
  jobs: readonly SimulatedJob[],
  { workers, policy = 'hawk', choices = {}, seed = 1, delayMs = 0.5 }: Setting,
): Promise<SimulatedEnd[]> {
  const simulation = new Simulation({
    workers,
    slots: 1,
    capacity: NO_RESOURCES,
    schedulers: 3,
    settings: {
      policy: {
        ...DEFAULT_POLICY,
        policy,
        preset: { ...PRESETS[policy] },
        cutoffMs: CUTOFF_MS,
        estimator: 'pilot',
        ...choices,
      },
      timings: RELIABLE_TIMINGS,
    },
    seed,
    network: { kind: 'constant', delayMs },
  });
  const ends: SimulatedEnd[] = [];
  for await (const ended of simulation.run(jobs)) for (const end of ended) ends[end.index] = end;
  return ends;
}

function jobOf(submitMs: number, sleepsMs: readonly number[], seed: string): SimulatedJob {
  return { submitMs, spec: parseJobSpec({ tasks: sleepsMs.map((sleep) => ({ sleep })), seed }) };
}

const alike = (count: number, sleepMs: number) => new Array<number>(count).fill(sleepMs);

describe.each(POLICY_NAMES)('under %s', (policy) => {
  test('jobs of 1, 2, 3 and 10,000 tasks end, and the sampled ones are classified', async () => {
    const sizes = [1, 2, 3, 10_000];
    const jobs = [1_000, 20_000].flatMap((sleepMs, i) =>
      sizes.map((size) => jobOf(i * 100, alike(size, sleepMs), `${i} ${size}`)),
    );
    const ends = await simulate(jobs, { workers: 400, policy });
    expect(ends.map(({ completed }) => completed)).toEqual(alike(8, 1).map(() => true));
    expect(ends.map(({ sampled }) => sampled?.pilots)).toEqual([
      ...[undefined, undefined, 1, 300],
      ...[undefined, undefined, 1, 300],
    ]);
    expect(ends.map(({ judged }) => judged.long)).toEqual([
      ...[false, false, false, false],
      ...[false, false, true, true],
    ]);
  });
});

test('no worker is idle while a task of an unclassified job that may run there waits', async () => {
  for (const policy of ['hawk', 'goshawk', 'goshawk-peer'] as const) {
    const choices: Partial<PolicySettings> = { shortPartition: 0, reserve: 0, stealRetry: 'backoff' };
    const ends = await simulate([jobOf(0, alike(40, 5_000), 'a')], { workers: 20, policy, choices });
    // The tasks need two rounds of twenty; if the rest waited for the pilots, there would be a third.
    expect(Math.max(...ends[0]!.startsMs)).toBeLessThan(5_500);
  }
});

test('decisions depend only on the job: other delays and random draws decide the same', async () => {
  const random = Random.seeded('jobs');
  const jobs = Array.from({ length: 80 }, (_, i) => {
    const isLong = random.next() < 0.3;
    const mean = isLong ? 4 * CUTOFF_MS : CUTOFF_MS / 8;
    const tasks = 1 + Math.floor(60 * random.next());
    return jobOf(
      i * 500,
      Array.from({ length: tasks }, () => mean * (0.3 + 1.4 * random.next())),
      `job ${i}`,
    );
  });
  for (const policy of ['hawk', 'goshawk'] as const) {
    const decisions = async (seed: number, delayMs: number) => {
      const ends = await simulate(jobs, { workers: 300, policy, seed, delayMs });
      return ends.map(({ judged, sampled }) => {
        // After an early decision, the estimate depends on how long pilots had run by then.
        const estimate = judged.long ? 'at least the cutoff' : judged.estimateMs?.toFixed(3);
        return [judged.long, estimate, sampled?.pilots];
      });
    };
    expect(await decisions(2, 3)).toEqual(await decisions(1, 0.5));
  }
});

import { DEFAULT_POLICY, type JobSpec, NO_RESOURCES, PRESETS, Random, RELIABLE_TIMINGS } from '@goshawk/core';
import { expect, test } from 'vitest';
import { type DealtSleeps, dealtByStart } from './dealt-sleeps.js';
import { Simulation } from './simulation.js';

function jobOf(sleepsMs: readonly number[], estimateMs: number): JobSpec {
  const stage = { name: 'tasks', after: [], tasks: { sleepsMs }, demand: NO_RESOURCES };
  const nothingElse = { user: undefined, timeoutMs: undefined, maxRunning: undefined, deadlineMs: undefined };
  return { name: 'job', stages: [stage], estimateMs, retries: 0, weight: 1, ...nothingElse };
}

/**
 * Runs two jobs of two tasks on two workers, placed by central; the last task of the second job starts first.
 */
async function runsOfSecondJob(as: (spec: JobSpec) => JobSpec): Promise<number[]> {
  const simulation = new Simulation({
    workers: 2,
    slots: 1,
    capacity: NO_RESOURCES,
    schedulers: 1,
    settings: {
      policy: { ...DEFAULT_POLICY, policy: 'central', preset: { ...PRESETS.central }, cutoffMs: 1 },
      timings: RELIABLE_TIMINGS,
    },
    seed: 1,
  });
  const jobs = [
    { submitMs: 0, spec: as(jobOf([5_000, 1_000], 3_000)) },
    { submitMs: 10, spec: as(jobOf([100, 200], 150)) },
  ];
  for await (const ended of simulation.run(jobs)) {
    for (const { index, runsMs } of ended) if (index === 1) return [...runsMs];
  }
  throw new Error('the second job did not end');
}

test('a duration belongs to its task, unless it is dealt to the task that starts next', async () => {
  expect(await runsOfSecondJob((spec) => spec)).toEqual([100, 200]);
  expect(await runsOfSecondJob(dealtByStart)).toEqual([200, 100]);
});

test('a task that runs again takes as long as before', () => {
  const spec = dealtByStart({ ...jobOf([100, 200], 150), retries: 1 });
  const { tasks } = spec.stages[0]!;
  const dealt = 'run' in tasks ? (tasks.run as unknown as DealtSleeps) : undefined;
  expect([1, 0, 1].map((task) => dealt!.of(task))).toEqual([100, 200, 100]);
});

test('tasks other than sleep tasks are unchanged', () => {
  const spec = { ...jobOf([], 1), stages: [{ ...jobOf([], 1).stages[0]!, tasks: { each: [{ sleep: 1 }] } }] };
  expect(dealtByStart(spec)).toEqual(spec);
});

test('durations may be dealt in random order', () => {
  const sleepsMs = Array.from({ length: 50 }, (_, i) => i);
  const random = Random.seeded('order');
  const spec = dealtByStart(jobOf(sleepsMs, 1), { random: () => random.next() });
  const { tasks } = spec.stages[0]!;
  const dealt = 'run' in tasks ? (tasks.run as unknown as DealtSleeps) : undefined;
  const order = sleepsMs.map(() => dealt!.next());
  expect(order).not.toEqual(sleepsMs);
  expect(order.toSorted((a, b) => a - b)).toEqual(sleepsMs);
});

import { buildComparison } from './compare.js';
import type { Comparison } from './comparison.js';
import type { JobResult, RunSetup } from './job-result.js';
import { finishRun, type RunFacts, type RunSeries } from './run.js';
import { RunTally } from './tally.js';

export interface RunMeasurements extends RunSetup, RunFacts {
  readonly jobs: Iterable<JobResult>;
}

export function buildRun(measured: RunMeasurements) {
  const tally = new RunTally(measured);
  for (const job of measured.jobs) tally.add(job);
  return finishRun(tally, measured);
}

/** Returns a job whose tasks all start at once; times are in seconds. */
export function job(
  fields: Partial<JobResult> & { waitSeconds?: number; runSeconds?: number } = {},
): JobResult {
  const { waitSeconds = 1, runSeconds = 2, ...rest } = fields;
  const submitSeconds = rest.submitSeconds ?? 0;
  const taskCount = rest.taskCount ?? 1;
  const started = Array.from({ length: taskCount });
  return {
    id: 'job',
    class: 'short',
    outcome: 'completed',
    submitSeconds,
    runtimeSeconds: waitSeconds + runSeconds,
    taskCount,
    taskStartsSeconds: started.map(() => submitSeconds + waitSeconds),
    taskRunSeconds: started.map(() => runSeconds),
    ...rest,
  };
}

export function measurements(
  jobs: Iterable<JobResult>,
  fields: Partial<RunMeasurements> = {},
): RunMeasurements {
  return {
    policy: 'hawk',
    seed: 1,
    options: { policy: 'hawk', cutoff: 'p90' },
    jobs,
    totalSlots: 4,
    snapshotIntervalSeconds: 1,
    messages: { total: 30, byType: { probe: 20, run: 10 } },
    steals: { attempts: 5, successes: 2, probesMoved: 3 },
    wallSeconds: 10,
    ...fields,
  };
}

/**
 * Returns a run of a small workload. Policies differ in the waits of short jobs, which `slowness` multiplies.
 */
export function sampleRun(policy: string, seed: number, slowness: number, jobs = 120) {
  const results = Array.from({ length: jobs }, (_, index): JobResult => {
    const long = index % 10 === 9;
    const wait = (0.01 + ((index * 37 + seed * 11) % 50) / 100) * (long ? 1 : slowness);
    return job({
      id: `job-${index}`,
      class: long ? 'long' : 'short',
      submitSeconds: index * 0.05,
      waitSeconds: wait,
      runSeconds: long ? 3 : 0.1,
      taskCount: 1 + (index % 3),
    });
  });
  return buildRun(
    measurements(results, {
      policy,
      seed,
      options: { policy, cutoff: 'p90', 'steal-cap': policy === 'hawk' ? 10 : 0, seed },
      totalSlots: 40,
      snapshotIntervalSeconds: 0.1,
      readings: [1, 2, 3, 4, 5, 6].map((seconds) => ({
        seconds,
        stealAttempts: policy === 'hawk' ? seconds * 10 : 0,
        stealSuccesses: policy === 'hawk' ? seconds * 4 : 0,
        probesMoved: policy === 'hawk' ? seconds * 6 : 0,
        queuedEntries: 6 - seconds,
      })),
    }),
  );
}

/** Returns a comparison of policies with these slowness factors, and the series for its page. */
export function sample(
  slownessByPolicy: Readonly<Record<string, number>> = { hawk: 1, sparrow: 8 },
  seeds: readonly number[] = [1],
): { comparison: Comparison; series: RunSeries[] } {
  const built = Object.entries(slownessByPolicy).flatMap(([policy, slowness]) =>
    seeds.map((seed) => sampleRun(policy, seed, slowness)),
  );
  const comparison = buildComparison({
    workload: {
      name: 'google-like:jobs=120',
      sha256: '9f86d081884c7d659a2feaa0c55ad015',
      jobs: 120,
      tasks: 240,
      taskSeconds: 93.6,
      spanSeconds: 5.95,
    },
    cluster: { workers: 40, slots: 1, schedulers: 10, mode: 'live' },
    runs: built.map(({ run }) => run),
  });
  return { comparison, series: built.map(({ series }) => series) };
}

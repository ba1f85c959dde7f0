import { meanOf, Random, ResourceNames, type Resources, type Vector } from '@goshawk/core';
import type { CentralPolicy, PolicyModule, PolicyOptions } from '../contract.js';
import { defaultsOf } from '../own.js';
import { Fairness } from './fairness.js';
import { runTrial, type TrialJob } from './trial.js';

/** A job as traces have it; tasks of a stage are alike, so the first stands for all. */
export interface TracedJob {
  readonly submitSeconds: number;
  readonly durationsSeconds: ArrayLike<number>;
  readonly stages?: readonly {
    readonly tasks: number;
    readonly after: readonly number[];
    readonly demand?: Resources;
  }[];
}

/** Machines that are alike. Slots are no limit: what tasks demand is. */
export interface TrialCluster {
  readonly machines: number;
  readonly machine: Resources;
  /** Of what the policy believes: durations times a factor that is uniform in 1 ± this. */
  readonly error?: number;
}

export interface TrialMetrics {
  /** Of each job, by its place. */
  readonly jctSeconds: readonly number[];
  readonly meanSeconds: number;
  readonly makespanSeconds: number;
  /** Jain's index of what jobs have over what they could have had. */
  readonly jainByNeed: number;
}

/** The policy with these options; those that are left out have their defaults. */
export function trialPolicy(module: PolicyModule, options: PolicyOptions, seed: number): CentralPolicy {
  const random = Random.seeded(seed);
  return module.make(
    { ...defaultsOf(module), ...options },
    { cutoffMs: 0, sizesAreGiven: true, reserve: 'auto', random: () => random.next() },
  );
}

/** @param jobs in order of submission */
export function measureTrial(
  jobs: readonly TracedJob[],
  cluster: TrialCluster,
  policy: CentralPolicy,
  seed: number,
): TrialMetrics {
  const names = new ResourceNames();
  for (const name of Object.keys(cluster.machine)) names.indexOf(name);
  const errors = Random.seeded(seed).fork('errors');
  const tried = jobs.map((job) =>
    trialJobOf(job, names, () => 1 + (cluster.error ?? 0) * (2 * errors.next() - 1)),
  );
  const fairness = new Fairness();
  const { completedMs } = runTrial({
    jobs: tried,
    resources: Object.keys(cluster.machine),
    workers: workersOf(cluster, names),
    policy,
    observe: (from, until, books) => fairness.observe(from, until, books),
  });
  const jctSeconds = tried.map(({ arriveMs }, i) => (completedMs[i]! - arriveMs) / 1_000);
  return {
    jctSeconds,
    meanSeconds: meanOf(jctSeconds),
    makespanSeconds: (Math.max(...completedMs) - tried[0]!.arriveMs) / 1_000,
    jainByNeed: fairness.byNeed().mean,
  };
}

function workersOf({ machines, machine }: TrialCluster, names: ResourceNames): Vector[] {
  const capacity = names.capacityOf(Number.POSITIVE_INFINITY, machine);
  return Array.from({ length: machines }, () => capacity);
}

function trialJobOf(job: TracedJob, names: ResourceNames, factor: () => number): TrialJob {
  const { submitSeconds, durationsSeconds, stages = [] } = job;
  let first = 0;
  return {
    arriveMs: Math.round(submitSeconds * 1_000),
    stages: stages.map(({ tasks, after, demand = {} }) => {
      const durationMs = Math.round(durationsSeconds[first]! * 1_000);
      first += tasks;
      return {
        tasks,
        demand: names.demandOf(demand),
        durationMs,
        estimateMs: Math.max(1, Math.round(durationMs * factor())),
        parents: after,
      };
    }),
  };
}

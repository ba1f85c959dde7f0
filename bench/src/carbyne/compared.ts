import { Random, ResourceNames, type Vector } from '@goshawk/core';
import {
  CARBYNE_POLICIES,
  Fairness,
  type PolicyModule,
  type PolicyOptions,
  runTrial,
  type TrialJob,
} from '@goshawk/policies';
import { DAG_MACHINE, type TraceJob } from '@goshawk/traces';

export type CarbynePolicy = keyof typeof CARBYNE_POLICIES;

export interface Setting {
  readonly policy: CarbynePolicy;
  readonly options?: PolicyOptions;
}

export interface Measured {
  /** Of each job, by its place. */
  readonly jctSeconds: readonly number[];
  readonly meanSeconds: number;
  readonly makespanSeconds: number;
  readonly jainByNeed: number;
  readonly jainRaw: number;
  readonly turns: number;
}

const NAMES = new ResourceNames();
for (const name of Object.keys(DAG_MACHINE)) NAMES.indexOf(name);

export interface Cluster {
  readonly machines: number;
  /** As Carbyne's prototype: all machines as one. */
  readonly isOne: boolean;
}

/** Slots are no limit: what tasks demand is. */
function workersOf({ machines, isOne }: Cluster): Vector[] {
  const times = isOne ? machines : 1;
  const each = Object.fromEntries(
    Object.entries(DAG_MACHINE).map(([name, amount]) => [name, amount * times]),
  );
  const capacity = NAMES.capacityOf(Number.POSITIVE_INFINITY, each);
  return Array.from({ length: isOne ? 1 : machines }, () => capacity);
}

/** Tasks of a stage are alike, so the first stands for all. */
export function trialJobOf({ submitSeconds, durationsSeconds, stages = [] }: TraceJob): TrialJob {
  let first = 0;
  return {
    arriveMs: Math.round(submitSeconds * 1_000),
    stages: stages.map(({ tasks, after, demand = {} }) => {
      const durationMs = Math.round(durationsSeconds[first]! * 1_000);
      first += tasks;
      return { tasks, demand: NAMES.demandOf(demand), durationMs, parents: after };
    }),
  };
}

export function policyOf({ policy: name, options }: Setting, seed: number) {
  const module: PolicyModule = CARBYNE_POLICIES[name];
  const defaults = Object.entries(module.options).map(([key, option]) => [key, option.default]);
  const random = Random.seeded(seed);
  return module.make(
    { ...Object.fromEntries(defaults), ...options },
    { cutoffMs: 0, random: () => random.next() },
  );
}

export function measure(
  jobs: readonly TrialJob[],
  cluster: Cluster,
  setting: Setting,
  seed: number,
): Measured {
  const fairness = new Fairness();
  const { completedMs, turns } = runTrial({
    jobs,
    resources: Object.keys(DAG_MACHINE),
    workers: workersOf(cluster),
    policy: policyOf(setting, seed),
    observe: (from, until, books) => fairness.observe(from, until, books),
  });
  const jctSeconds = jobs.map(({ arriveMs }, i) => (completedMs[i]! - arriveMs) / 1_000);
  return {
    jctSeconds,
    meanSeconds: jctSeconds.reduce((sum, each) => sum + each, 0) / jctSeconds.length,
    makespanSeconds: (Math.max(...completedMs) - jobs[0]!.arriveMs) / 1_000,
    jainByNeed: fairness.byNeed().mean,
    jainRaw: fairness.raw().mean,
    turns,
  };
}

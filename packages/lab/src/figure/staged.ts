import { nearestRank } from '@goshawk/core';
import type { RunSettings, Staged } from '@goshawk/figures';
import {
  CARBYNE_POLICIES,
  measureTrial,
  type PolicyModule,
  type TrialMetrics,
  trialPolicy,
} from '@goshawk/policies';
import { slowdownsOf } from '@goshawk/report';
import { configureGenerator, DAG_MACHINE } from '@goshawk/traces';
import { type Making, runTrials } from './making.js';

const MODULES: Readonly<Record<string, PolicyModule>> = CARBYNE_POLICIES;

/** All runs of a staged figure; of each seed the first variant is what the others are compared with, job by job. */
export async function runStaged(making: Making) {
  const { store, chosen } = making;
  const first = chosen.figure.variants[0]!.settings;
  const runOf = (workload: string, settings: RunSettings, seed: number) =>
    store.once(['staged', workload, settings, seed], async () => measured(workload, settings, seed));
  return runTrials(making, async (workload, settings, seed) =>
    stagedOf(await runOf(workload, settings, seed), await runOf(workload, { ...settings, ...first }, seed)),
  );
}

function measured(workload: string, settings: RunSettings, seed: number): TrialMetrics {
  const { policy = '', workers: machines = 1, altruism, estimateError: error = 0 } = settings;
  const jobs = [...configureGenerator(`${workload},seed=${seed}`).generate()];
  const module = MODULES[policy]!;
  const options = altruism !== undefined && 'altruism' in module.options ? { altruism } : {};
  return measureTrial(
    jobs,
    { machines, machine: DAG_MACHINE, error },
    trialPolicy(module, { quantumMs: 0, ...options }, seed),
    seed,
  );
}

function stagedOf(
  { jctSeconds, meanSeconds, makespanSeconds, jainByNeed }: TrialMetrics,
  first: TrialMetrics,
): Staged {
  const { slower, muchSlower } = slowdownsOf(jctSeconds, first.jctSeconds);
  return {
    meanSeconds,
    p95Seconds: nearestRank(Float64Array.from(jctSeconds).sort(), 95),
    makespanSeconds,
    fairness: jainByNeed,
    slower,
    muchSlower,
  };
}

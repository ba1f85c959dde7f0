import { meanOf, nearestRank } from '@goshawk/core';
import type { RunSettings, StagedRun } from '@goshawk/papers/figures';
import { runStagedTrial, type StagedTrial, trialPolicy } from '@goshawk/papers/trials';
import { optionsOf, policyModule } from '@goshawk/policies';
import { slowdownsOf } from '@goshawk/report';
import { configureGenerator, DAG_MACHINE } from '@goshawk/traces';
import { type FigureContext, runTrials, type Tried } from './figure-context.js';

/** Performs all runs of a staged figure; the first variant of each seed is the baseline for each job. */
export async function runStaged(making: FigureContext) {
  const { store, chosen } = making;
  const first = chosen.figure.variants[0]!.settings;
  const runOf = (workload: string, settings: RunSettings, seed: number) =>
    store.run(['staged', workload, settings, seed], () => tried(workload, settings, seed));
  return runTrials(making, async (workload, settings, seed) => {
    const own = await runOf(workload, settings, seed);
    const base = await runOf(workload, { ...settings, ...first }, seed);
    return { ...own, results: stagedOf(own.results, base.results) };
  });
}

function tried(workload: string, settings: RunSettings, seed: number): Tried<StagedTrial> {
  const { policy = '', workers: machines = 1, altruism, estimateError: error = 0 } = settings;
  const seeded = `${workload},seed=${seed}`;
  const jobs = [...configureGenerator(seeded).generate()];
  const module = policyModule(policy);
  const { options } = module;
  const own = {
    ...('quantumMs' in options ? { quantumMs: 0 } : {}),
    ...(altruism !== undefined && 'altruism' in options ? { altruism } : {}),
  };
  const cluster = { machines, machine: DAG_MACHINE, error };
  const results = runStagedTrial(jobs, cluster, trialPolicy(policy, own, seed), seed);
  const resolved = optionsOf(policy, module, own);
  return { results, workload: seeded, options: { policy, ...cluster, ...resolved } };
}

function stagedOf({ runtimeSeconds, results }: StagedTrial, first: StagedTrial): StagedRun {
  const { slower, muchSlower } = slowdownsOf(runtimeSeconds, first.runtimeSeconds);
  return {
    meanSeconds: meanOf(runtimeSeconds),
    p95Seconds: nearestRank(Float64Array.from(runtimeSeconds).sort(), 95),
    makespanSeconds: results.makespanSeconds,
    fairness: results.fairness.byNeed?.mean ?? 1,
    slower,
    muchSlower,
    runtimeSeconds,
  };
}

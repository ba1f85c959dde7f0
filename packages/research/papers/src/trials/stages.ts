import { Random, ResourceNames, type Resources } from '@goshawk/core';
import type { CentralPolicy } from '@goshawk/policies';
import { type StagedResults, StageTally } from '@goshawk/report';
import type { TraceJob } from '@goshawk/traces';
import { runTrial, type TrialJob } from './trial.js';

/** Equal machines. Slots are unlimited; only demands count. */
interface Machines {
  readonly machines: number;
  readonly machine: Resources;
  /**
   * Maximum relative error of estimates: durations are multiplied by a factor that is uniform in 1 ± this.
   */
  readonly error?: number;
}

export interface StagedTrial {
  /** Time from submission to completion, by job. */
  readonly runtimeSeconds: readonly number[];
  readonly results: StagedResults;
}

/**
 * Runs a policy alone on jobs with stages. The tasks of a stage are equal: the duration of the first
 * represents all.
 *
 * @param jobs jobs in order of submission
 */
export function runStagedTrial(
  jobs: readonly TraceJob[],
  { machines, machine, error = 0 }: Machines,
  policy: CentralPolicy,
  seed: number,
): StagedTrial {
  const names = new ResourceNames();
  const capacity = names.capacityOf(Number.POSITIVE_INFINITY, machine);
  const tried = jobs.map((job) => trialJobOf(job, names));
  const errors = Random.seeded(seed).fork('errors');
  const starts = tried.map(({ stages }) => stages.map((): number[] => []));
  const { completedMs } = runTrial({
    jobs: tried,
    resources: Object.keys(machine),
    workers: Array.from({ length: machines }, () => ({ capacity })),
    policy,
    estimate: (job, stage) => {
      const factor = 1 + error * (2 * errors.next() - 1);
      return { estimateMs: Math.max(1, Math.round(tried[job]!.stages[stage]!.durationMs * factor)) };
    },
    started: ({ stage: { job, index } }, now) => starts[job.number]![index]!.push(now / 1_000),
  });
  const total = Object.entries(machine).map(([name, amount]) => [name, amount * machines]);
  const tally = new StageTally(Object.fromEntries(total));
  const runtimeSeconds = tried.map(({ arriveMs, stages }, number) => {
    const taken = (completedMs[number]! - arriveMs) / 1_000;
    tally.add({
      submitSeconds: arriveMs / 1_000,
      runtimeSeconds: taken,
      stages: jobs[number]!.stages!.map(({ tasks, after, demand = {} }) => ({ tasks, after, demand })),
      taskStartsSeconds: starts[number]!.flat(),
      taskRunSeconds: stages.flatMap(({ tasks, durationMs }) =>
        new Array<number>(tasks).fill(durationMs / 1_000),
      ),
    });
    return taken;
  });
  return { runtimeSeconds, results: tally.read()! };
}

function trialJobOf(
  { submitSeconds, durationsSeconds, stages = [] }: TraceJob,
  names: ResourceNames,
): TrialJob {
  let first = 0;
  return {
    arriveMs: Math.round(submitSeconds * 1_000),
    stages: stages.map(({ tasks, after, demand = {} }) => {
      const durationMs = Math.round(durationsSeconds[first]! * 1_000);
      first += tasks;
      return { tasks, demand: names.demandOf(demand), durationMs, parents: after };
    }),
  };
}

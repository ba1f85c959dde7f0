import { cpusOf, demandOf, sumOf } from '@goshawk/core';
import type { TraceJob } from './job.js';

type Needs = Pick<TraceJob, 'durationsSeconds' | 'demand' | 'stages'>;

/** Returns the CPUs of a task in each group of consecutive tasks with the same demand: a stage, or the whole job. */
export function cpusOfStages({
  durationsSeconds,
  demand: ofJob,
  stages,
}: Needs): { readonly tasks: number; readonly cpus: number }[] {
  if (stages === undefined) return [{ tasks: durationsSeconds.length, cpus: cpusOf(demandOf(ofJob)) }];
  return stages.map(({ tasks, demand = ofJob }) => ({ tasks, cpus: cpusOf(demandOf(demand)) }));
}

/** Returns the run times of a job's tasks, each multiplied by the CPUs of the task. */
export function cpuSecondsOf(job: Needs): number {
  let first = 0;
  return sumOf(cpusOfStages(job), ({ tasks, cpus }) => {
    const seconds = sumOf(job.durationsSeconds.subarray(first, first + tasks));
    first += tasks;
    return cpus * seconds;
  });
}

import { type Millis, sumOf } from '@goshawk/core';
import type { ArrivingJob, Estimate } from './estimator.js';

/** Describes each stage as a job, to compare it with past ones; undefined for a job of one stage. */
export function stagesAsJobs(job: ArrivingJob): readonly ArrivingJob[] | undefined {
  const { stages, name, logicalName, user, schedulingClass, submittedAt } = job;
  return stages?.map((stage) => ({
    name,
    logicalName,
    user,
    schedulingClass,
    submittedAt,
    stage: stage.name,
    tasks: stage.tasks,
    startable: stage.tasks,
    demand: stage.demand,
    trueMeanMs: stage.trueMeanMs,
  }));
}

/** Estimates a job from its stages: the mean over all of its tasks determines its size (SLearn §6). */
export function estimateOfStages(
  { stages = [], tasks }: ArrivingJob,
  stagesMs: readonly Millis[],
  by: string,
): Estimate {
  const sum = sumOf(stages, (stage, place) => stage.tasks * stagesMs[place]!);
  return { meanMs: sum / tasks, by, stagesMs };
}

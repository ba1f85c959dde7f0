import { countTasks, type JobSpec, type Millis, type StageSpec, statedMs } from '@goshawk/core';
import type { ArrivingJob, ArrivingStage } from '@goshawk/predictor';

/**
 * Describes an arriving job to estimators.
 *
 * @param hasPrivateNames whether estimators compare job names only among jobs of the same user
 */
export function arrivingJobOf(spec: JobSpec, wallMs: Millis, hasPrivateNames: boolean): ArrivingJob {
  const scoped = (name: string): string =>
    hasPrivateNames ? JSON.stringify([spec.user ?? null, name]) : name;
  let tasks = 0;
  let startable = 0;
  for (const stage of spec.stages) {
    const count = countTasks(stage.tasks);
    tasks += count;
    if (stage.after.length === 0) startable = Math.max(startable, count);
  }
  return {
    name: scoped(spec.name),
    logicalName: spec.logicalName && scoped(spec.logicalName),
    user: spec.user,
    demand: spec.stages.length === 1 ? spec.stages[0]!.demand : undefined,
    // An open job may start without tasks, but its client will append some.
    tasks: Math.max(1, tasks),
    startable: Math.max(1, startable),
    stages: spec.stages.length === 1 ? undefined : spec.stages.map(arrivingStageOf),
    submittedAt: wallMs,
    givenMs: statedMs(spec),
    ...(spec.deadlineMs === undefined ? {} : { hasDeadline: true }),
  };
}

function arrivingStageOf({ name, after, tasks, demand }: StageSpec): ArrivingStage {
  return { name, tasks: countTasks(tasks), startable: after.length === 0, demand };
}

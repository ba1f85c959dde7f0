import {
  type Address,
  type Attributes,
  countBesides,
  effectiveScope,
  hasBesides,
  type Millis,
  spreadOf,
  type TaskIndex,
} from '@goshawk/core';
import type { Batch } from '../job/batch.js';
import type { Job } from '../job/job.js';
import { TaskState } from '../job/task-state.js';
import type { SchedulerState } from '../state/state.js';

/** Maximum count of healthy workers. A task that failed at this many workers may run on any worker. */
const HEALTHY_MAX = 16;

// Decides which tasks may run at a worker: the worker must have what they require, and a retry avoids workers where it
// failed if there are others.

/** Takes the next task of the batch that may run at the worker; −1: none. */
export function takeNextFor(
  s: Pick<SchedulerState, 'cluster' | 'unfit'>,
  job: Job,
  batch: Batch,
  worker: Address,
  now: Millis,
): TaskIndex {
  return permits(s, job, batch, worker)
    ? job.waiting.takeNext(batch, filterFor(s, job, batch, worker, now))
    : -1;
}

/** Whether a waiting task of the batch may run at a worker that was neither probed nor matched. */
export function hasTaskFor(
  s: Pick<SchedulerState, 'cluster' | 'unfit'>,
  job: Job,
  batch: Batch,
  worker: Address,
  now: Millis,
): boolean {
  const isUnknown = !s.cluster.members.has(worker);
  if ((isUnknown && batch.spec.requires !== undefined) || !permits(s, job, batch, worker)) return false;
  const isAllowed = filterFor(s, job, batch, worker, now);
  return isAllowed === undefined || job.waiting.canTake(batch, isAllowed);
}

/**
 * Whether the batch may use the worker. Central, or the victim of a steal, has checked a worker that this scheduler does
 * not know yet.
 */
function permits(
  s: Pick<SchedulerState, 'cluster' | 'unfit'>,
  job: Job,
  { spec }: Batch,
  worker: Address,
): boolean {
  if (spec.requires === undefined) return true;
  const { members } = s.cluster;
  if (!members.has(worker)) return true;
  return (
    members.meetsRequirements(worker, spec) && (!job.spreads || hasSpreadRoom(s, job, spec.requires, worker))
  );
}

/** Whether one more task of the job may run at the worker although its tasks spread. */
function hasSpreadRoom(
  s: Pick<SchedulerState, 'cluster' | 'unfit'>,
  { tasks }: Job,
  requires: Attributes,
  worker: Address,
): boolean {
  const { members } = s.cluster;
  for (const { name, most } of spreadOf(requires) ?? []) {
    const value = members.attributeOf(worker, name);
    let there = 0;
    for (const task of tasks.inStates(TaskState.placed, TaskState.running))
      if (members.attributeOf(tasks.workerOf(task), name) === value && ++there === most) return false;
  }
  return true;
}

/** Filter for the tasks of the batch that may run at the worker; undefined: all may. */
function filterFor(
  s: Pick<SchedulerState, 'cluster' | 'unfit'>,
  job: Job,
  { spec, scope: probeScope }: Batch,
  worker: Address,
  now: Millis,
): ((task: TaskIndex) => boolean) | undefined {
  const { blame } = job.history;
  // Without the retry timer, a skipped task would never be considered again.
  if (blame === undefined || s.cluster.timings.retryMs === 0) return undefined;
  const scope = effectiveScope(s.cluster.joinedPolicy.preset, probeScope ?? job.route.over);
  const hasOthers = (besides: readonly Address[]) => hasBesides(s.cluster.members, besides, scope, spec);
  const isFailing = s.unfit.failingFor(job.spec.user).has(worker);
  const healthy = isFailing ? healthyWorkers(s, job, { spec, scope: probeScope }) : Number.POSITIVE_INFINITY;
  return (task) => blame.mayRunAt(task, worker, { isFailing, healthy }, hasOthers, now);
}

/** Number of workers for the batch at which no task of its user currently fails, up to a limit. */
export function healthyWorkers(
  s: Pick<SchedulerState, 'cluster' | 'unfit'>,
  job: Job,
  { spec, scope: probeScope }: Pick<Batch, 'spec' | 'scope'>,
): number {
  const failing = s.unfit.failingFor(job.spec.user);
  const scope = effectiveScope(s.cluster.joinedPolicy.preset, probeScope ?? job.route.over);
  return countBesides(s.cluster.members, failing, scope, spec, HEALTHY_MAX);
}

import { fitsIn, meetsWishes, type Needs, type Vector } from '@goshawk/core';
import type { JobView, StageView, WorkerView } from './contract.js';

/** Whether a task of the stage may run at the worker, regardless of room. Every start and every plan asks this. */
export function isPermitted({ needs }: StageView, worker: WorkerView): boolean {
  return needs.permits(worker);
}

/** Whether another stage with equal needs may fit at a worker at which this one does not. */
export function isSelective({ job, declinedBy }: StageView): boolean {
  return declinedBy !== undefined || hasPreference(job);
}

/** Whether a task of the stage is permitted at the worker and fits now. */
export function hasRoom(stage: StageView, worker: WorkerView): boolean {
  return fitsIn(stage.demand, worker.free) && isPermitted(stage, worker);
}

/** Whether a task of the stage can start at the worker now, and its owner has not declined the worker recently. */
export function fitsNow(stage: StageView, worker: WorkerView): boolean {
  return hasRoom(stage, worker) && stage.declinedBy?.has(worker) !== true;
}

/** Whether a task of the stage is permitted at the worker and would fit if nothing else ran there. */
export function fitsEver(stage: StageView, worker: WorkerView): boolean {
  return fitsIn(stage.demand, worker.capacity) && isPermitted(stage, worker);
}

/** Whether some stage with these needs may fit at the worker now. */
export function mayFit(needs: Needs, worker: WorkerView): boolean {
  return fitsIn(needs.demand, worker.free) && needs.permits(worker);
}

/** Whether the job prefers some workers. */
export function hasPreference({ prefers }: JobView): boolean {
  for (const _ in prefers) return true;
  return false;
}

/** Whether the worker has all attributes that the job prefers. */
export function isPreferredAt(
  { prefers }: Pick<JobView, 'prefers'>,
  { attributes }: Pick<WorkerView, 'attributes'>,
): boolean {
  return meetsWishes(prefers, attributes);
}

/** Number of tasks that must start together: all tasks of a gang, else 1. */
export function gangSize({ gang, waiting }: StageView): number {
  return gang ? Math.max(1, waiting) : 1;
}

/** Number of tasks of the stage that fit into these amounts, up to a limit. */
export function countIn({ demand }: Pick<StageView, 'demand'>, amounts: Vector, most: number): number {
  let count = most;
  for (let index = 0; index < demand.length; index++) {
    const each = demand[index]!;
    if (each > 0) count = Math.min(count, Math.floor((amounts[index] ?? 0) / each));
  }
  return Math.max(0, count);
}

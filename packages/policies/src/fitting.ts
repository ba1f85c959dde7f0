import { fitsIn, mayRun, type Vector } from '@goshawk/core';
import type { StageView, WorkerView } from './contract.js';

/** Properties that determine which workers fit a stage. */
type Fitting = Pick<StageView, 'demand' | 'requires'> & Partial<Pick<StageView, 'declinedBy'>>;

/** Whether a task of the stage can start at the worker now, and its owner has not declined the worker recently. */
export function fitsNow(stage: Fitting, worker: WorkerView): boolean {
  return hasRoom(stage, worker) && stage.declinedBy?.has(worker) !== true;
}

/** Whether a task of the stage is permitted at the worker and fits now. */
export function hasRoom(stage: Pick<StageView, 'demand' | 'requires'>, worker: WorkerView): boolean {
  return fitsIn(stage.demand, worker.free) && mayRun(worker, stage);
}

/** Whether a task of the stage is permitted at the worker and would fit if it were empty. */
export function fitsEver(stage: Pick<StageView, 'demand' | 'requires'>, worker: WorkerView): boolean {
  return fitsIn(stage.demand, worker.capacity) && mayRun(worker, stage);
}

/** A key that is equal for all stages that fit the same workers. */
export function needsOf({ demand, requires }: Pick<StageView, 'demand' | 'requires'>): string {
  return requires === undefined ? demand.join() : `${demand.join()} ${JSON.stringify(requires)}`;
}

/** Whether a task of the stage is permitted at the worker, regardless of room. */
export function mayRunAt(stage: Pick<StageView, 'requires'>, worker: WorkerView): boolean {
  return mayRun(worker, stage);
}

/** Number of tasks that must start together: all tasks of a gang, else 1. */
export function togetherOf({ gang, waiting }: StageView): number {
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

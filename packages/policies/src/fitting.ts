import { fitsIn, mayRun, type Vector } from '@goshawk/core';
import type { StageView, WorkerView } from './contract.js';

/** Properties that determine which workers fit a stage. */
type Fitting = Pick<StageView, 'demand' | 'requires'> & Partial<Pick<StageView, 'declinedBy'>>;

/** Whether the worker may run a task of the stage, has room for one now, and was not declined by its owner just now. */
export function fitsNow(stage: Fitting, worker: WorkerView): boolean {
  return hasRoom(stage, worker) && stage.declinedBy?.has(worker) !== true;
}

/** Whether the worker may run a task of the stage, and has room for one now. */
export function hasRoom(stage: Pick<StageView, 'demand' | 'requires'>, worker: WorkerView): boolean {
  return fitsIn(stage.demand, worker.free) && mayRun(worker, stage);
}

/** Whether the worker may run a task of the stage, and has room for one when nothing else runs. */
export function fitsEver(stage: Pick<StageView, 'demand' | 'requires'>, worker: WorkerView): boolean {
  return fitsIn(stage.demand, worker.capacity) && mayRun(worker, stage);
}

/** The same for all stages that fit the same workers. */
export function needsOf({ demand, requires }: Pick<StageView, 'demand' | 'requires'>): string {
  return requires === undefined ? demand.join() : `${demand.join()} ${JSON.stringify(requires)}`;
}

/** Whether the worker may run a task of the stage, whatever room there is. */
export function mayRunAt(stage: Pick<StageView, 'requires'>, worker: WorkerView): boolean {
  return mayRun(worker, stage);
}

/** Tasks of the stage that start together: all of a gang. */
export function togetherOf({ gang, waiting }: StageView): number {
  return gang ? Math.max(1, waiting) : 1;
}

/** Tasks of the stage for which these amounts are enough, so many at most. */
export function countIn({ demand }: Pick<StageView, 'demand'>, amounts: Vector, most: number): number {
  let count = most;
  for (let index = 0; index < demand.length; index++) {
    const each = demand[index]!;
    if (each > 0) count = Math.min(count, Math.floor((amounts[index] ?? 0) / each));
  }
  return Math.max(0, count);
}

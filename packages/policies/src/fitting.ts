import { fitsIn, mayRun } from '@goshawk/core';
import type { StageView, WorkerView } from './contract.js';

/** Whether the worker may run a task of the stage, and has room for one now. */
export function fitsNow(stage: Pick<StageView, 'demand' | 'requires'>, worker: WorkerView): boolean {
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

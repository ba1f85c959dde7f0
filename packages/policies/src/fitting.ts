import { fitsIn, type Needs, type Vector } from '@goshawk/core';
import type { StageView, WorkerView } from './contract.js';

/** Whether a task of the stage can start at the worker now, and its owner has not declined the worker recently. */
export function fitsNow({ needs, declinedBy }: StageView, worker: WorkerView): boolean {
  return hasRoom(needs, worker) && declinedBy?.has(worker) !== true;
}

/** Whether a task with these needs is permitted at the worker and fits now. */
export function hasRoom(needs: Needs, worker: WorkerView): boolean {
  return fitsIn(needs.demand, worker.free) && needs.permits(worker);
}

/** Whether a task with these needs is permitted at the worker and would fit if nothing else ran there. */
export function fitsEver(needs: Needs, worker: WorkerView): boolean {
  return fitsIn(needs.demand, worker.capacity) && needs.permits(worker);
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

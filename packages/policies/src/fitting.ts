import { fitsIn, meetsWishes, type Needs, type Vector } from '@goshawk/core';
import type { JobView, StageView, WorkerView } from './contract.js';

/** Whether a task of the stage may run at the worker, regardless of room. Every start and every plan asks this. */
export function isPermitted(stage: StageView, worker: WorkerView): boolean {
  return stage.needs.permits(worker) && (stage.needs.spread === undefined || spreadRoom(stage, worker) > 0);
}

/**
 * Number of further tasks of the stage that may start at the worker although its job spreads them, regardless of room.
 *
 * @param chosen workers of tasks that will start together with them
 */
export function spreadRoom(
  { needs, job }: StageView,
  { attributes }: WorkerView,
  chosen: readonly WorkerView[] = [],
): number {
  let room = Number.POSITIVE_INFINITY;
  for (const { name, most } of needs.spread ?? []) {
    const value = attributes[name];
    if (value === undefined) return 0;
    let taken = job.runningAt(name, value);
    for (const worker of chosen) if (worker.attributes[name] === value) taken++;
    room = Math.min(room, most - taken);
  }
  return Math.max(0, room);
}

/** Whether another stage with equal needs may fit at a worker at which this one does not. */
export function isSelective({ job, needs, declinedBy }: StageView): boolean {
  return declinedBy !== undefined || needs.spread !== undefined || hasPreference(job);
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

/** Adds the worker to `chosen` once for each further task that it may run, up to `count` and to `together` in all. */
export function choose(
  worker: WorkerView,
  count: number,
  stage: StageView,
  together: number,
  chosen: WorkerView[],
): void {
  const most = stage.needs.spread === undefined ? count : Math.min(count, spreadRoom(stage, worker, chosen));
  for (let task = 0; task < most && chosen.length < together; task++) chosen.push(worker);
}

/**
 * Says that only the rule of its job to spread keeps the tasks of the stage from starting.
 *
 * @returns undefined if they could start, or could not without that rule either
 */
export function spreadLimit(stage: StageView, workers: Iterable<WorkerView>): string | undefined {
  const { spread } = stage.needs;
  if (spread === undefined) return undefined;
  const together = gangSize(stage);
  const chosen: WorkerView[] = [];
  let left = together;
  for (const worker of workers) {
    if (!worker.open || !stage.needs.permits(worker)) continue;
    const room = worker.roomFor(stage.demand);
    left -= room;
    choose(worker, room, stage, together, chosen);
  }
  if (left > 0 || chosen.length === together) return undefined;
  const limits = spread.map(({ name, most }) => `${most} per ${name}`).join(' and ');
  return together > 1
    ? `its job runs at most ${limits}, so only ${chosen.length} of the ${together} tasks of the gang could start now`
    : `its job runs at most ${limits}, and has as many wherever there is room`;
}

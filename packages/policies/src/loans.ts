import { addVector, CPU, fitsIn, SLOT, type Vector } from '@goshawk/core';
import type { RunView, StageView, WorkerView } from './contract.js';
import { isPermitted } from './fitting.js';

// Loans: a running task pauses while another task uses its CPUs. It keeps everything else that it holds.

/** Whether the run may pause at the worker; borrowers never do. */
export function canLend(run: RunView, worker: WorkerView): boolean {
  return run.lenders.length === 0 && isLendable(run.stage) && usesItsCpus(run, worker);
}

/**
 * Whether the run may share its CPUs with its children: it is not paused, since it usually waits for them. A borrower may,
 * too, so that children can have children.
 */
export function canShare(run: RunView, worker: WorkerView): boolean {
  return isShareable(run.stage) && usesItsCpus(run, worker);
}

/** Whether these different runs may pause at the worker for one task, or one of them may share its CPUs with its child. */
export function canMakeRoom(lenders: readonly RunView[], isShared: boolean, worker: WorkerView): boolean {
  if (isShared) return lenders.length === 1 && canShare(lenders[0]!, worker);
  return lenders.every((each, at) => canLend(each, worker) && lenders.indexOf(each) === at);
}

/** Whether running tasks of the stage may lend their CPUs. */
export function isLendable(stage: StageView): boolean {
  return isShareable(stage) && !stage.hasGpus;
}

function isShareable({ mayLend, gang, demand }: StageView): boolean {
  return mayLend && !gang && (demand[CPU] ?? 0) > 0;
}

function usesItsCpus(run: RunView, worker: WorkerView): boolean {
  const { borrower, isQueued, isPreempted } = run;
  if (run.worker !== worker || borrower !== undefined || isQueued || isPreempted) return false;
  return run.stage.job.runs.has(run);
}

/**
 * Returns what each lender frees for a task with this demand: the first one its slot, and all together at most the CPUs of the
 * demand.
 */
export function lentBy(lenders: readonly RunView[], demand: Vector): Vector[] {
  let missing = demand[CPU] ?? 0;
  return lenders.map(({ stage }, at) => {
    const cpu = Math.min(missing, stage.demand[CPU] ?? 0);
    missing -= cpu;
    return [at === 0 ? (stage.demand[SLOT] ?? 0) : 0, cpu];
  });
}

/**
 * Whether a task of the stage is permitted at the worker and fits once the lenders pause, or share their CPUs with it.
 *
 * @param isBeside also while tasks use more than the worker has, which the task then does not change
 */
export function hasRoomWith(
  lenders: readonly RunView[],
  stage: StageView,
  worker: WorkerView,
  isBeside: boolean,
): boolean {
  const free = [...worker.free];
  addVector(free, owedAt(worker), -1);
  if (isBeside) for (const index of [SLOT, CPU]) free[index] = Math.max(0, free[index] ?? 0);
  for (const part of lentBy(lenders, stage.demand)) addVector(free, part, 1);
  return fitsIn(stage.demand, free) && isPermitted(stage, worker);
}

/** Slots and CPUs that tasks use beyond the worker's capacity, because their lenders did not wait any longer. */
function owedAt({ capacity, runs }: WorkerView): Vector {
  const used = [0, 0];
  for (const { stage, lent, isQueued } of runs) {
    if (isQueued) continue;
    for (const index of [SLOT, CPU]) used[index]! += (stage.demand[index] ?? 0) - (lent[index] ?? 0);
  }
  return used.map((amount, index) => Math.max(0, amount - (capacity[index] ?? 0)));
}

/** Returns what becomes free when the run ends: the CPUs that it has borrowed return to the lenders. */
export function freedBy({ stage, lenders, lent }: RunView): Vector {
  if (lenders.length === 0) return stage.demand;
  const freed = [...stage.demand];
  addVector(freed, lent, -1);
  for (const { lent } of lenders) addVector(freed, lent, -1);
  return freed;
}

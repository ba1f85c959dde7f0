import { type Millis, slotsIn, type Vector } from '@goshawk/core';
import { isCounted } from '../amounts.js';
import type { PolicyContext, RunView, StageView, WorkerView } from '../contract.js';
import { fitsNow, hasPreference, isPreferredAt } from '../fitting.js';
import { FreeWorkers } from '../free-workers.js';
import { type Ends, Reservations, sampleOf } from '../reservations.js';
import { Gangs } from './gangs.js';

/** Weight of the fit against the order: a complete fit counts three times as much as the whole order. */
const ALIGNMENT_WEIGHT = 3;
/** Maximum number of stages among which the best task for a worker is chosen; equal needs beyond them are skipped. */
export const CANDIDATES_MAX = 100;

export interface Candidate {
  readonly stage: StageView;
  /** Position in the order, from 0. */
  readonly rank: number;
}

/** Room at workers: what is free, what is reserved, and the choice of the worker for a task or the task for a worker. */
export class Placement {
  readonly free = new FreeWorkers(({ free }) => slotsIn(free));
  readonly reservations: Reservations;
  readonly gangs: Gangs;
  readonly #context: PolicyContext;
  #capacity: Vector = [];

  constructor(ends: Ends, context: PolicyContext) {
    this.reservations = new Reservations(ends);
    this.gangs = new Gangs(this.free, this.reservations);
    this.#context = context;
  }

  /** @param capacity of the cluster */
  planBegins(capacity: Vector): void {
    this.#capacity = capacity;
  }

  /** Records that a task of the stage has started. */
  started({ stage, worker }: RunView, now: Millis): void {
    this.free.update(worker);
    this.reservations.started(stage, worker, now);
  }

  /** The workers considered for a reservation of one task. */
  sampleOf(workers: readonly WorkerView[]): readonly WorkerView[] {
    return sampleOf(workers, this.#context);
  }

  /** A worker with room for a task of the stage, preferred by its job if possible. */
  workerFor(stage: StageView, now: Millis): WorkerView | undefined {
    const admits = (worker: WorkerView): boolean => this.reservations.admits(stage, worker, now);
    if (hasPreference(stage.job)) {
      const preferred = this.free.find(
        stage,
        this.#capacity,
        this.#context,
        (each) => isPreferredAt(stage.job, each) && admits(each),
      );
      if (preferred !== undefined) return preferred;
    }
    return this.free.find(stage, this.#capacity, this.#context, admits);
  }

  /**
   * The fitting task with the highest score: weighted alignment with the free resources, less its relative position
   * in the order.
   */
  taskFor(worker: WorkerView, candidates: readonly Candidate[], now: Millis): StageView | undefined {
    let best: StageView | undefined;
    let bestScore = Number.NEGATIVE_INFINITY;
    for (const { stage, rank } of candidates) {
      const behind = rank / candidates.length;
      // No later candidate can have a higher score.
      if (ALIGNMENT_WEIGHT - behind <= bestScore) break;
      if (stage.waiting === 0 || !fitsNow(stage, worker)) continue;
      if (!this.reservations.admits(stage, worker, now)) continue;
      const score = ALIGNMENT_WEIGHT * alignment(stage.demand, worker.free, worker.capacity) - behind;
      if (score <= bestScore) continue;
      best = stage;
      bestScore = score;
    }
    return best;
  }
}

/**
 * Alignment of the demand with the free resources: the largest product demand · free over resources, both as shares
 * of the worker. A sum would outweigh the order on workers with many resources.
 */
function alignment(demand: Vector, free: Vector, capacity: Vector): number {
  let most = 0;
  for (let r = 0; r < demand.length; r++) {
    const total = capacity[r] ?? 0;
    if (isCounted(total)) most = Math.max(most, (demand[r]! / total) * (free[r]! / total));
  }
  return most;
}

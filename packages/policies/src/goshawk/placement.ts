import { type Millis, meetsWishes, type Vector } from '@goshawk/core';
import { isCounted } from '../amounts.js';
import type { JobView, PolicyContext, StageView, WorkerView } from '../contract.js';
import { fitsNow } from '../fitting.js';
import type { FreeWorkers } from '../free-workers.js';
import type { Reservations } from '../reservations.js';

/** Weight of the fit against the order: a complete fit counts three times as much as the whole order. */
const ALIGNMENT_WEIGHT = 3;
/** Maximum number of stages among which the best task for a worker is chosen; equal needs beyond them are skipped. */
export const CANDIDATES_MAX = 100;

export interface Candidate {
  readonly stage: StageView;
  /** Position in the order, from 0. */
  readonly rank: number;
}

/** Placement of tasks: the worker for a task, and the task for a worker. */
export class Placement {
  readonly #free: FreeWorkers;
  readonly #reservations: Reservations;
  readonly #context: PolicyContext;

  constructor(free: FreeWorkers, reservations: Reservations, context: PolicyContext) {
    this.#free = free;
    this.#reservations = reservations;
    this.#context = context;
  }

  /** A worker with room for a task of the stage, preferred by its job if possible. */
  workerFor(stage: StageView, now: Millis): WorkerView | undefined {
    const admits = (worker: WorkerView): boolean => this.#reservations.admits(stage, worker, now);
    if (hasPreference(stage.job)) {
      const preferred = this.#free.find(
        stage,
        this.#context,
        (each) => isPreferredAt(stage.job, each) && admits(each),
      );
      if (preferred !== undefined) return preferred;
    }
    return this.#free.find(stage, this.#context, admits);
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
      if (!this.#reservations.admits(stage, worker, now)) continue;
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
    const whole = capacity[r] ?? 0;
    if (isCounted(whole)) most = Math.max(most, (demand[r]! / whole) * (free[r]! / whole));
  }
  return most;
}

export function hasPreference({ prefers }: JobView): boolean {
  for (const _ in prefers) return true;
  return false;
}

export function isPreferredAt({ prefers }: JobView, { attributes }: WorkerView): boolean {
  return meetsWishes(prefers, attributes);
}

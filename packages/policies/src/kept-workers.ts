import { type Millis, PATIENCE_CUTOFFS } from '@goshawk/core';
import type { PolicyContext, StageView, WorkerView } from './contract.js';
import { fitsEver, fitsNow, needsOf } from './fitting.js';
import { type FreeWorkers, isDemanding } from './free-workers.js';

/** What the policy does with a stage for which workers are kept. */
interface Serving {
  mayRun(stage: StageView): boolean;
  /** @returns whether a task of the stage has started there */
  start(stage: StageView, worker: WorkerView): boolean;
}

const NO_WORKERS: readonly WorkerView[] = [];

/**
 * Workers that get nothing else until what is free there is enough for a task that needs more than a slot. Small tasks would
 * take the room bit by bit for ever.
 */
export class KeptWorkers {
  readonly #free: FreeWorkers;
  readonly #context: PolicyContext;
  /** Waiting stages that need more than a slot. */
  readonly #demanding = new Set<StageView>();
  readonly #keptFor = new Map<WorkerView, StageView>();

  constructor(free: FreeWorkers, context: PolicyContext) {
    this.#free = free;
    this.#context = context;
  }

  get size(): number {
    return this.#keptFor.size;
  }

  has(worker: WorkerView): boolean {
    return this.#keptFor.has(worker);
  }

  countFor(stage: StageView): number {
    return [...this.#keptFor.values()].filter((each) => each === stage).length;
  }

  waits(stage: StageView): void {
    if (isDemanding(stage)) this.#demanding.add(stage);
  }

  forget(stage: StageView): void {
    if (!this.#demanding.delete(stage)) return;
    for (const [worker, kept] of this.#keptFor) if (kept === stage) this.#keptFor.delete(worker);
  }

  /** Keeps workers for what has fitted nowhere for long, and starts it where it fits. */
  serve({ mayRun, start }: Serving, now: Millis): void {
    if (this.#demanding.size === 0) return;
    const kept = this.#byStage(mayRun);
    /** No other worker could be kept for such tasks. While none starts that does not change. */
    const fitNowhere = new Set<string>();
    for (const stage of this.#starved(mayRun, now)) {
      const workers = kept.get(stage) ?? NO_WORKERS;
      let count = workers.length;
      if (count === 0 && fitNowhere.has(needsOf(stage))) continue;
      let hasStarted = false;
      for (const worker of count < stage.waiting ? [...this.#free.all] : workers) {
        if (stage.waiting === 0) break;
        const keptFor = this.#keptFor.get(worker);
        if (keptFor === undefined && count < stage.waiting && fitsEver(stage, worker)) {
          this.#keptFor.set(worker, stage);
          count++;
        } else if (keptFor !== stage) continue;
        if (!fitsNow(stage, worker) || !mayRun(stage)) continue;
        this.#keptFor.delete(worker);
        count--;
        hasStarted = start(stage, worker) || hasStarted;
      }
      if (hasStarted) fitNowhere.clear();
      else if (count < stage.waiting) fitNowhere.add(needsOf(stage));
    }
  }

  /** Lets go of those that are kept without need. @returns the others */
  #byStage(mayRun: Serving['mayRun']): ReadonlyMap<StageView, readonly WorkerView[]> {
    const kept = new Map<StageView, WorkerView[]>();
    for (const [worker, stage] of this.#keptFor) {
      const workers = kept.get(stage) ?? [];
      const isNeeded = workers.length < stage.waiting && mayRun(stage);
      if (isNeeded && this.#free.has(worker)) workers.push(worker);
      else this.#keptFor.delete(worker);
      kept.set(stage, workers);
    }
    return kept;
  }

  /** What may run and has waited for too long, the longest first. */
  #starved(mayRun: Serving['mayRun'], now: Millis): readonly StageView[] {
    const before = now - PATIENCE_CUTOFFS * this.#context.cutoffMs;
    const starved = [...this.#demanding].filter((stage) => stage.waitsSince <= before && mayRun(stage));
    return starved.sort((one, other) => one.waitsSince - other.waitsSince);
  }
}

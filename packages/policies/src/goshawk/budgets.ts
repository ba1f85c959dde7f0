import { CPU, IndexedHeap, type Millis, PER_CPU, SLOT } from '@goshawk/core';
import type { RunView, StageView, WorkerView } from '../contract.js';

/** Weight of each short task in the averages of their run times and demands. */
const MEAN_WEIGHT = 1 / 50;
/** Lenders are counted again when the mean run time of short tasks has changed by this factor. */
const DRIFT = 1.5;

/**
 * The running tasks that may pause for short ones, for how long, and how many of their CPUs a typical short task could
 * borrow. The reserve need not keep as many free.
 */
export class Budgets {
  readonly #runs: (RunView | undefined)[] = [];
  /** Runs by budget (negative ms), the longest first. */
  readonly #budgets = new IndexedHeap();
  /** CPU amounts that typical short tasks could borrow, as far as the run's budget and size matter, by run id. */
  readonly #amountOf: number[] = [];
  /** Their sum at each worker, by worker id, and the part of it for which other resources are free there. */
  readonly #offeredAt: number[] = [];
  readonly #countedAt: number[] = [];
  #amount = 0;
  /** Mean run time of short tasks; 0: none has started. */
  #shortMs: Millis = 0;
  /** The mean for which lenders were counted. */
  #countedMs: Millis = 0;
  /** Mean demand of short tasks. */
  readonly #shortDemand: number[] = [];

  /** Number of runs. */
  get size(): number {
    return this.#budgets.size;
  }

  /** Number of CPUs that typical short tasks could borrow now. */
  get cpus(): number {
    return this.#amount / PER_CPU;
  }

  /** Mean run time of short tasks; 0: none has started. */
  get shortMs(): Millis {
    return this.#shortMs;
  }

  /** The longest budget. */
  get longestMs(): Millis {
    return this.#budgets.size === 0 ? 0 : -this.#budgets.topKey();
  }

  /** For how long the run may pause for short tasks; 0: not at all. */
  of(run: RunView): Millis {
    return -(this.#budgets.keyOf(run.id) ?? 0);
  }

  /** The runs, those with the longest budgets first. */
  *inOrder(): Iterable<RunView> {
    for (const id of this.#budgets.inOrder()) yield this.#runs[id]!;
  }

  set(run: RunView, budgetMs: Millis): void {
    this.#runs[run.id] = run;
    this.#budgets.set(run.id, -budgetMs);
    this.#offer(run);
  }

  delete(run: RunView): void {
    if (!this.#budgets.has(run.id)) return;
    this.#budgets.delete(run.id);
    this.#runs[run.id] = undefined;
    this.#offer(run);
  }

  /** A short task starts. @param taskMs its estimated run time */
  shortStarted({ demand }: StageView, taskMs: Millis): void {
    if (taskMs <= 0) return;
    const weight = this.#shortMs === 0 ? 1 : MEAN_WEIGHT;
    this.#shortMs += (taskMs - this.#shortMs) * weight;
    for (let index = 0; index < Math.max(demand.length, this.#shortDemand.length); index++) {
      const mean = this.#shortDemand[index] ?? 0;
      this.#shortDemand[index] = mean + ((demand[index] ?? 0) - mean) * weight;
    }
    if (this.#shortMs < this.#countedMs * DRIFT && this.#shortMs * DRIFT > this.#countedMs) return;
    this.#countedMs = this.#shortMs;
    for (const id of this.#budgets.inOrder()) this.#offer(this.#runs[id]!);
  }

  /** The worker has opened or closed, or its free resources have changed. */
  workerChanged(worker: WorkerView): void {
    const before = this.#countedAt[worker.id] ?? 0;
    const offered = this.#offeredAt[worker.id] ?? 0;
    if (before === 0 && offered === 0) return;
    const counted = worker.open ? Math.min(offered, this.#roomAt(worker)) : 0;
    this.#countedAt[worker.id] = counted;
    this.#amount += counted - before;
  }

  /** Counts the CPUs of the run that typical short tasks could borrow. */
  #offer(run: RunView): void {
    const { id, worker, stage } = run;
    const amount = stage.demand[CPU] ?? 0;
    // A lender with more CPUs than its borrower would keep the others idle.
    const suits = this.#budgets.has(id) && this.of(run) >= this.#countedMs && amount <= this.#shortAmount;
    const now = suits ? amount : 0;
    const before = this.#amountOf[id] ?? 0;
    if (now === before) return;
    this.#amountOf[id] = now;
    this.#offeredAt[worker.id] = (this.#offeredAt[worker.id] ?? 0) + now - before;
    this.workerChanged(worker);
  }

  /** CPU amount of a typical short task, or that of one CPU. */
  get #shortAmount(): number {
    return Math.max(PER_CPU, this.#shortDemand[CPU] ?? 0);
  }

  /** CPU amount of as many typical short tasks as have everything else that they need at the worker. */
  #roomAt({ free }: WorkerView): number {
    let tasks = Number.POSITIVE_INFINITY;
    for (let index = 0; index < this.#shortDemand.length; index++) {
      const amount = this.#shortDemand[index]!;
      if (index === CPU || index === SLOT || amount <= 0) continue;
      tasks = Math.min(tasks, Math.floor(Math.max(0, free[index] ?? 0) / amount));
    }
    return Math.floor(tasks * this.#shortAmount);
  }
}

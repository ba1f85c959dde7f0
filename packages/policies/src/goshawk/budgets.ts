import { CPU, IndexedHeap, invariant, type Millis, PER_CPU, SLOT, type Vector } from '@goshawk/core';
import type { RunView, StageView, WorkerView } from '../contract.js';

/** Number of short tasks over which their run times and demands are averaged. */
const AVERAGED = 500;
/** Lenders are counted again when the mean run time or demand of short tasks has changed by this factor. */
const DRIFT = 2;

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
  /** Number of short tasks in the averages. */
  #shortTasks = 0;
  /** Mean run time of short tasks, 0 if none has started, and their mean demand. */
  #shortMs: Millis = 0;
  readonly #shortDemand: number[] = [];
  /** The means for which lenders were counted. */
  #countedMs: Millis = 0;
  #countedDemand: Vector = [];

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
    this.#shortTasks = Math.min(AVERAGED, this.#shortTasks + 1);
    const weight = 1 / this.#shortTasks;
    this.#shortMs += (taskMs - this.#shortMs) * weight;
    for (let index = 0; index < Math.max(demand.length, this.#shortDemand.length); index++) {
      const mean = this.#shortDemand[index] ?? 0;
      this.#shortDemand[index] = mean + ((demand[index] ?? 0) - mean) * weight;
    }
    const isNear = (mean: number, index: number) => isWithinDrift(mean, this.#countedDemand[index] ?? 0);
    if (isWithinDrift(this.#shortMs, this.#countedMs) && this.#shortDemand.every(isNear)) return;
    this.#countedMs = this.#shortMs;
    this.#countedDemand = [...this.#shortDemand];
    for (const run of this.#runs) {
      if (run === undefined) continue;
      this.#offer(run);
      this.workerChanged(run.worker);
    }
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

  /** Checks the number of CPUs that short tasks could borrow against the runs at the workers. */
  check(workers: Iterable<WorkerView>): void {
    let sum = 0;
    for (const worker of workers) {
      if (!worker.open) continue;
      const lenders = worker.runs.filter((run) => this.#runs[run.id] === run && this.#suits(run));
      const offered = lenders.reduce((amount, { stage }) => amount + stage.demand[CPU]!, 0);
      if (offered > 0) sum += Math.min(offered, this.#roomAt(worker));
    }
    invariant(
      sum === this.#amount,
      () => `short tasks could borrow ${sum / PER_CPU} CPUs, and ${this.cpus} are counted`,
    );
  }

  /** Counts the CPUs of the run that typical short tasks could borrow. */
  #offer(run: RunView): void {
    const { id, worker, stage } = run;
    const now = this.#suits(run) ? stage.demand[CPU]! : 0;
    const before = this.#amountOf[id] ?? 0;
    if (now === before) return;
    this.#amountOf[id] = now;
    this.#offeredAt[worker.id] = (this.#offeredAt[worker.id] ?? 0) + now - before;
    this.workerChanged(worker);
  }

  #suits(run: RunView): boolean {
    // A lender with more CPUs than its borrower would keep the others idle.
    const isSmall = (run.stage.demand[CPU] ?? 0) <= this.#shortAmount;
    return isSmall && this.#budgets.has(run.id) && this.of(run) >= this.#countedMs;
  }

  /** CPU amount of a typical short task, or that of one CPU. */
  get #shortAmount(): number {
    return Math.max(PER_CPU, this.#countedDemand[CPU] ?? 0);
  }

  /** CPU amount of as many typical short tasks as have everything else that they need at the worker. */
  #roomAt({ free }: WorkerView): number {
    let tasks = Number.POSITIVE_INFINITY;
    for (let index = 0; index < this.#countedDemand.length; index++) {
      const amount = this.#countedDemand[index]!;
      if (index === CPU || index === SLOT || amount <= 0) continue;
      tasks = Math.min(tasks, Math.floor(Math.max(0, free[index] ?? 0) / amount));
    }
    return Math.floor(tasks * this.#shortAmount);
  }
}

function isWithinDrift(mean: number, counted: number): boolean {
  return mean === counted || (mean < counted * DRIFT && mean * DRIFT > counted);
}

export function cpusOf({ demand }: StageView): number {
  return (demand[CPU] ?? 0) / PER_CPU;
}

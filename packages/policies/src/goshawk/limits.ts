import { CPU, type Millis, PER_CPU, reserveWindowMs, slotsIn } from '@goshawk/core';
import type { PolicyContext, RunView, StageView, WorkerView } from '../contract.js';
import type { FreeWorkers } from '../free-workers.js';
import { classOf, earlyStageOf, KINDS, type Kind } from './kinds.js';
import type { Lending } from './lending.js';
import { LongLimit } from './reserve.js';
import type { Waiting } from './waiting.js';

/**
 * A sampled job is small if its tasks number at most this fraction of the reserve: they delay short tasks little.
 */
const SMALL_FRACTION = 1 / 3;
/** Minimum interval (ms) between plans that only the passage of time triggers. */
const AGAIN_MIN_MS = 10;

/** Kinds of running tasks not known to be short. Pilots count like the rest of their job. */
type RunningKind = Exclude<Kind, 'pilots' | 'short'>;

/** Decides which kinds of tasks may start now: all tasks not known to be short leave a reserve for short ones. */
export class Limits {
  readonly #context: PolicyContext;
  readonly #waiting: Waiting;
  readonly #free: FreeWorkers;
  readonly #lending: Pick<Lending, 'cpus'>;
  readonly #long: LongLimit;
  /** Runs of jobs not known to be short, on open workers, by run id; and their totals by kind. */
  readonly #counted: (RunningKind | undefined)[] = [];
  readonly #running: Record<RunningKind, number> = { small: 0, long: 0, large: 0 };
  /** Stages with runs that were counted before the class of their job was known. */
  readonly #undecided = new Set<StageView>();
  /** Number of one-CPU tasks that the cluster can run at a time. */
  #units = 0;

  constructor(context: PolicyContext, waiting: Waiting, free: FreeWorkers, lending: Pick<Lending, 'cpus'>) {
    this.#lending = lending;
    this.#context = context;
    this.#waiting = waiting;
    this.#free = free;
    this.#long = new LongLimit(context.reserve, reserveWindowMs(context));
  }

  get longRunning(): number {
    return this.#running.long;
  }

  /** Number of running tasks that count towards the limit of a kind, and the limit. */
  countOf(kind: Kind, now: Millis): { readonly running: number; readonly limit: number } {
    const { long, small, large } = this.#running;
    const limit = this.longLimit(now);
    if (kind === 'long') return { running: long, limit };
    return { running: long + small + large, limit };
  }

  /** Number of CPUs for short tasks: those kept free, and those that they could borrow. */
  reserve(now: Millis): number {
    return this.#units - this.#long.of(this.#units, now);
  }

  /** Maximum number of CPUs that run long tasks. No CPU that short tasks could borrow is kept free for them. */
  longLimit(now: Millis): number {
    return Math.min(this.#units, this.#long.of(this.#units, now) + Math.floor(this.#lending.cpus));
  }

  mayRun(kind: Kind, now: Millis): boolean {
    if (kind === 'short' || kind === 'pilots') return true;
    const { running, limit } = this.countOf(kind, now);
    // The books may count more tasks at a worker than it has CPUs. More CPUs are then free than must stay free.
    if (running < limit || Math.floor(this.#free.units) > this.#units - limit) return true;
    const { long, small } = this.#running;
    // Small jobs need not wait for their pilots, even if long tasks fill the reserve: they can borrow.
    return kind === 'small' && small + Math.max(0, long - limit) < this.reserve(now);
  }

  runnableKinds(now: Millis): readonly Kind[] {
    return KINDS.filter((kind) => this.mayRun(kind, now));
  }

  /** Selects the kinds of which a stage may fit and may run. */
  servedKinds(of: readonly Kind[], now: Millis): readonly Kind[] {
    return of.filter((kind) => this.#waiting.hasOpen(kind) && this.mayRun(kind, now));
  }

  kindOf(stage: StageView, now: Millis): Kind {
    if (stage.part === 'pilots') return 'pilots';
    if (stage.part !== 'early') return classOf(stage);
    return stage.waiting <= SMALL_FRACTION * this.reserve(now) ? 'small' : 'large';
  }

  // ---- demand of short work

  shortArrived(workMs: Millis, now: Millis): void {
    this.#long.shortArrived(workMs, now);
  }

  /** Updates the averaging window, which depends on the cutoff. Called at the start of each plan. */
  planBegins(now: Millis): void {
    this.#long.setWindow(reserveWindowMs(this.#context), now);
  }

  /** @returns when to plan again because a limit may rise with time alone; undefined: never */
  planEnds(now: Millis): Millis | undefined {
    const { long, small, large } = this.#running;
    this.#long.setShortSlots(Math.max(0, this.#units - this.#free.units - long - small - large), now);
    const mayRise = this.#free.size > 0 && this.#long.mayRiseWithTime(this.#units, now);
    if (!mayRise || !this.#areBinding(now)) return undefined;
    // The limit changes slowly, on the scale of cutoffs.
    return now + Math.max(AGAIN_MIN_MS, Math.min(1_000, this.#context.cutoffMs / 100));
  }

  /** Whether some waiting tasks are above a limit. */
  #areBinding(now: Millis): boolean {
    return KINDS.some((kind) => this.#waiting.hasOpen(kind) && !this.mayRun(kind, now));
  }

  // ---- running tasks

  opened(worker: WorkerView, open: boolean): void {
    this.#units += (open ? 1 : -1) * slotsIn(worker.capacity);
    for (const run of worker.runs) {
      if (open) this.count(run);
      else this.uncount(run);
    }
  }

  count(run: RunView): void {
    const { stage, worker } = run;
    // Its CPUs count as those of its borrower.
    if (run.borrower !== undefined || !worker.open || this.#counted[run.id] !== undefined) return;
    const early = earlyStageOf(stage);
    const kind = early === undefined ? classOf(stage) : (this.#waiting.kindOf(early) ?? 'large');
    if (early !== undefined) this.#undecided.add(early);
    if (kind === 'short' || kind === 'pilots') return;
    this.#counted[run.id] = kind;
    this.#running[kind] += unitsOf(stage);
  }

  uncount(run: RunView): void {
    const kind = this.#counted[run.id];
    if (kind === undefined) return;
    this.#counted[run.id] = undefined;
    this.#running[kind] -= unitsOf(run.stage);
  }

  /** Counts a run again after its job has changed. */
  recount(run: RunView): void {
    const before = this.#counted[run.id];
    if (before !== undefined && run.stage.part === 'early') return;
    this.uncount(run);
    this.count(run);
  }

  /** Counts the runs of the stage's job again if its class has become known. */
  decided(stage: StageView): void {
    if (stage.part !== 'early' && this.#undecided.delete(stage))
      for (const run of stage.job.runs) this.recount(run);
  }

  gone(stage: StageView): void {
    this.#undecided.delete(stage);
  }
}

/** CPUs of a task. One without CPUs counts as one CPU, because it occupies a place. */
export function unitsOf({ demand }: StageView): number {
  const cpus = (demand[CPU] ?? 0) / PER_CPU;
  return cpus > 0 ? cpus : 1;
}

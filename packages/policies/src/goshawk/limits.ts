import { CPU, type Millis, PER_CPU, reserveWindowMs, slotsIn } from '@goshawk/core';
import type { PolicyContext, RunView, StageView, WorkerView } from '../contract.js';
import { Fragments, isFragment } from '../fragments.js';
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
type RunningKind = (typeof RUNNING_KINDS)[number];
const RUNNING_KINDS = ['small', 'long', 'large'] as const satisfies readonly Kind[];

/** Decides which kinds of tasks may start now: all tasks not known to be short leave a reserve for short ones. */
export class Limits {
  readonly #context: PolicyContext;
  readonly #waiting: Waiting;
  readonly #free: FreeWorkers;
  readonly #lending: Pick<Lending, 'cpus' | 'mayLend' | 'lendsToShort'>;
  readonly #long: LongLimit;
  /** Runs of jobs not known to be short, on open workers, by run id; and what they count by kind, in thousandths of a CPU. */
  readonly #counted: (RunningKind | undefined)[] = [];
  readonly #running: Record<RunningKind, number> = { small: 0, long: 0, large: 0 };
  /** Sums by kind what they count because no task with whole CPUs can use or borrow the rest of a CPU. */
  readonly #fragments = new Fragments();
  /** Stages with runs that were counted before the class of their job was known. */
  readonly #undecided = new Set<StageView>();
  /** Number of one-CPU tasks that the cluster can run at a time. */
  #units = 0;

  constructor(
    context: PolicyContext,
    waiting: Waiting,
    free: FreeWorkers,
    lending: Pick<Lending, 'cpus' | 'mayLend' | 'lendsToShort'>,
  ) {
    this.#lending = lending;
    this.#context = context;
    this.#waiting = waiting;
    this.#free = free;
    this.#long = new LongLimit(context.reserve, reserveWindowMs(context));
  }

  get longRunning(): number {
    return this.#running.long / PER_CPU;
  }

  /** Number of running tasks that count towards the limit of a kind, and the limit. */
  countOf(kind: Kind, now: Millis): { readonly running: number; readonly limit: number } {
    return { running: kind === 'long' ? this.longRunning : this.#allRunning, limit: this.longLimit(now) };
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
    if (running < limit || this.#isFreeBeyond(limit, this.#blocked)) return true;
    const { small } = this.#running;
    // Small jobs need not wait for their pilots, even if long tasks fill the reserve: they can borrow.
    return kind === 'small' && small / PER_CPU + Math.max(0, this.longRunning - limit) < this.reserve(now);
  }

  /** Whether a stage of the kind may get a reservation: what tasks block beyond their CPUs ends with them. */
  mayReserve(kind: Kind, now: Millis): boolean {
    if (this.mayRun(kind, now)) return true;
    const { running, limit } = this.countOf(kind, now);
    return running - this.#blocked < limit || this.#isFreeBeyond(limit, 0);
  }

  /** The books may count more tasks at a worker than it has CPUs. More CPUs are then free than must stay free. */
  #isFreeBeyond(limit: number, unusable: number): boolean {
    return Math.floor(this.#free.units - unusable) > this.#units - limit;
  }

  /** Workers where a task of the waiting stage counts nothing, because those that block CPUs there count whole ones. */
  covering(stage: StageView): Iterable<WorkerView> {
    const kind = this.#waiting.kindOf(stage);
    if (kind === undefined || !((stage.demand[CPU] ?? 0) > 0)) return [];
    return this.#fragments.covering(stage.demand, kind, amountOf(stage));
  }

  /** Whether there may be such workers. */
  get covers(): boolean {
    return this.#fragments.hasRuns;
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
    const used = this.#units - this.#free.units + this.#blocked;
    this.#long.setShortSlots(Math.max(0, used - this.#allRunning), now);
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
    const amount = amountOf(stage);
    this.#running[kind] += amount + (this.#mayBlock(run, kind) ? this.#fragments.add(run, kind, amount) : 0);
  }

  uncount(run: RunView): void {
    const kind = this.#counted[run.id];
    if (kind === undefined) return;
    this.#counted[run.id] = undefined;
    this.#running[kind] += this.#fragments.remove(run) - amountOf(run.stage);
  }

  /** Whether the run may keep CPUs from short tasks that it does not use, and does not pause for them. */
  #mayBlock(run: RunView, kind: RunningKind): boolean {
    const { demand } = run.stage;
    if (!isFragment(demand) || (demand[CPU] ?? 0) <= 0) return false;
    // Small jobs do not lend to short tasks because they are probably short.
    return kind === 'small' ? !this.#lending.mayLend(run) : !this.#lending.lendsToShort(run);
  }

  get #allRunning(): number {
    const { long, small, large } = this.#running;
    return (long + small + large) / PER_CPU;
  }

  /** CPUs that they count beyond their own. */
  get #blocked(): number {
    if (!this.#fragments.hasRuns) return 0;
    return RUNNING_KINDS.reduce((sum, kind) => sum + this.#fragments.of(kind), 0) / PER_CPU;
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
export function unitsOf(stage: StageView): number {
  return amountOf(stage) / PER_CPU;
}

function amountOf({ demand }: StageView): number {
  const cpu = demand[CPU] ?? 0;
  return cpu > 0 ? cpu : PER_CPU;
}

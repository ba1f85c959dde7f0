import { CPU, IndexedHeap, type Millis, PER_CPU } from '@goshawk/core';
import { TOLERANCE } from '../amounts.js';
import type { Loan, PolicyContext, RunView, StageView, WorkerView } from '../contract.js';
import { canLend, hasRoomWith, isLendable } from '../loans.js';
import type { Reservations } from '../reservations.js';
import { sampleOf } from '../reservations.js';
import type { RunTimeEstimates } from '../run-time-estimates.js';
import type { UserLines } from './line.js';
import type { UserShares } from './user-shares.js';

/** The part of its expected run time that a task lends to short tasks at most. */
const LENT_MAX = 0.05;
/** A user's task borrows only from tasks that still run for this part of its time: others soon end anyway. */
const WORTH_PAUSING = 0.2;
/** A task pauses for users and deadlines for at most this time; then it shares its CPUs with the borrower. */
const PAUSE_MAX_MS: Millis = 3_600_000;
/** A task that started less than this time ago may not have reached its worker. */
const SETTLED_MS: Millis = 20;
/** Number of lenders considered for a task. */
const CANDIDATES_MAX = 32;
/** Weight of each short task in the average of their run times. */
const MEAN_WEIGHT = 1 / 50;

/** A worker, and the runs there that make room for a task if they pause. */
export interface Offer {
  readonly worker: WorkerView;
  readonly loan: Loan;
}

/** Whether the job of a waiting task accepts the worker: near its deadline, only those that it prefers. */
type Accepts = (worker: WorkerView) => boolean;

/**
 * Decides which running tasks pause, so that a waiting task that fits nowhere can use their CPUs:
 *
 * 1. Long tasks, and those of unknown run time, for short ones: at most 5% of their time. See `forShort`.
 * 2. Tasks of users above their share for users below theirs. See `forUser`.
 * 3. Tasks that have time for jobs that would miss their deadlines. See `forDeadline`.
 *
 * Among possible lenders it takes those that have lent least. A lender resumes when its borrower ends.
 */
export class Lending {
  readonly #estimates: RunTimeEstimates;
  readonly #shares: UserShares;
  readonly #reservations: Reservations;
  readonly #context: PolicyContext;
  /** Open workers. */
  readonly #workers: WorkerView[] = [];
  /** Position of each open worker in the list, by id; −1: none. */
  readonly #places: number[] = [];
  readonly #runs: (RunView | undefined)[] = [];
  /** Runs that may lend to short tasks, by how long (negative ms), the longest first. */
  readonly #budgets = new IndexedHeap();
  /** Their CPUs, and the sum of their budgets (ms × CPUs). */
  #cpus = 0;
  #cpuMs = 0;
  /** Pause times of paused runs, before they were paused. */
  readonly #paused = new Map<RunView, Millis>();
  /** Mean run time of tasks known to be short; 0: unknown. */
  #shortMs: Millis = 0;

  constructor(
    estimates: RunTimeEstimates,
    shares: UserShares,
    reservations: Reservations,
    context: PolicyContext,
  ) {
    this.#estimates = estimates;
    this.#shares = shares;
    this.#reservations = reservations;
    this.#context = context;
  }

  /** Number of CPUs that short tasks could borrow now. The reserve need not keep as many free. */
  get cpus(): number {
    return this.#budgets.size === 0 ? 0 : Math.min(this.#cpus, this.#cpuMs / Math.max(1, this.#shortTaskMs));
  }

  // ---- what may be lent

  opened(worker: WorkerView, open: boolean): void {
    const place = this.#places[worker.id] ?? -1;
    if (open === place >= 0) return;
    if (open) {
      this.#places[worker.id] = this.#workers.push(worker) - 1;
      return;
    }
    const last = this.#workers.pop()!;
    this.#places[worker.id] = -1;
    if (last === worker) return;
    this.#workers[place] = last;
    this.#places[last.id] = place;
  }

  started(run: RunView, now: Millis): void {
    this.offered(run, now);
    const { stage } = run;
    if (stage.job.long || isUnknown(stage)) return;
    const taskMs = this.#estimates.taskMs(stage, now);
    if (taskMs > 0) this.#shortMs += (taskMs - this.#shortMs) * (this.#shortMs === 0 ? 1 : MEAN_WEIGHT);
  }

  /** The run uses its CPUs: it has started or resumed, or its estimate has changed. */
  offered(run: RunView, now: Millis): void {
    this.withdrawn(run);
    if (run.borrower !== undefined || run.lenders.length > 0 || !isLendable(run.stage) || run.isQueued)
      return;
    if (this.#context.lend === 'none') return;
    const budgetMs = this.#maxLentMs(run.stage, now) - run.pausedMs(now);
    if (!(budgetMs > 0)) return;
    this.#runs[run.id] = run;
    this.#budgets.set(run.id, -budgetMs);
    this.#cpus += cpusOf(run.stage);
    this.#cpuMs += budgetMs * cpusOf(run.stage);
  }

  /** The run pauses, or has ended. */
  withdrawn({ id, stage }: RunView): void {
    const key = this.#budgets.keyOf(id);
    if (key === undefined) return;
    this.#budgets.delete(id);
    this.#runs[id] = undefined;
    this.#cpus -= cpusOf(stage);
    // Clears the rounding error of the sum.
    this.#cpuMs = this.#budgets.size === 0 ? 0 : this.#cpuMs + key * cpusOf(stage);
  }

  /** @returns false if it is known to be paused */
  paused(run: RunView, now: Millis): boolean {
    if (this.#paused.has(run)) return false;
    this.#paused.set(run, run.pausedMs(now));
    this.withdrawn(run);
    return true;
  }

  /** The pause of the run has ended. @returns how long it lasted; undefined if it was not paused */
  resumed(run: RunView, now: Millis): Millis | undefined {
    const before = this.#paused.get(run);
    if (before === undefined) return undefined;
    this.#paused.delete(run);
    return run.pausedMs(now) - before;
  }

  /**
   * How long a task may lend to short ones: a part of the expected time of a long one, the cutoff if its length is
   * unknown, and no time if it is short itself.
   */
  #maxLentMs(stage: StageView, now: Millis): Millis {
    const { cutoffMs } = this.#context;
    if (isUnknown(stage)) return cutoffMs;
    return stage.job.long ? LENT_MAX * Math.max(cutoffMs, this.#estimates.taskMs(stage, now)) : 0;
  }

  /** Expected run time of a short task. */
  get #shortTaskMs(): Millis {
    return this.#shortMs > 0 ? Math.min(this.#shortMs, this.#context.cutoffMs) : this.#context.cutoffMs;
  }

  /** Whether users and deadlines borrow, too. */
  get #lendsToAll(): boolean {
    return (this.#context.lend ?? 'all') === 'all';
  }

  // ---- the rules

  /**
   * Rule 1: a short task, or one of unknown run time, borrows from one that can lend for as long as it is expected to run.
   * If it outlives the cutoff, it shares the CPU with its lender, and its worker starts nothing until a CPU is free.
   */
  forShort(stage: StageView, accepts: Accepts, now: Millis): Offer | undefined {
    const taskMs = isUnknown(stage) ? this.#shortTaskMs : this.#estimates.taskMs(stage, now);
    if (this.#budgets.size === 0 || -this.#budgets.topKey() < taskMs) return undefined;
    const mayLend = (run: RunView): boolean => -(this.#budgets.keyOf(run.id) ?? 0) >= taskMs;
    let left = CANDIDATES_MAX;
    for (const id of this.#budgets.inOrder()) {
      const run = this.#runs[id]!;
      if (left-- === 0 || !mayLend(run)) return undefined;
      if (!accepts(run.worker)) continue;
      const lenders = this.#lendersAt(run, stage, mayLend, now);
      if (lenders !== undefined)
        return { worker: run.worker, loan: { lenders, atMostMs: this.#context.cutoffMs } };
    }
    return undefined;
  }

  /**
   * Rule 2: a user who has at most its fair share even with the task borrows from one who has at least its own even
   * without the lender. So two users never take a CPU back and forth. No task pauses for one that runs much longer.
   */
  forUser(stage: StageView, user: UserLines, accepts: Accepts, now: Millis): Offer | undefined {
    const shares = this.#shares;
    if (!this.#lendsToAll) return undefined;
    // Sums of shares are rounded.
    if (user.used + shares.shareOf(stage) > shares.fairShareOf(user) + TOLERANCE) return undefined;
    const leastMs = WORTH_PAUSING * this.#estimates.taskMs(stage, now);
    const mayLend = (run: RunView): boolean => {
      const lender = shares.userOf(run);
      if (lender === undefined || lender === user) return false;
      if (this.#estimates.endOf(run, now) - now < leastMs) return false;
      return lender.used - shares.shareOf(run.stage) >= shares.fairShareOf(lender) - TOLERANCE;
    };
    return this.#leastLent(stage, accepts, mayLend, now);
  }

  /** Rule 3: a job that has reached its latest start borrows from one without a deadline, or that still meets its own. */
  forDeadline(stage: StageView, accepts: Accepts, now: Millis): Offer | undefined {
    if (!this.#lendsToAll) return undefined;
    const taskMs = this.#estimates.taskMs(stage, now);
    const mayLend = (run: RunView): boolean => {
      const { job } = run.stage;
      return job !== stage.job && this.#estimates.endOf(run, now) + taskMs <= job.deadlineAt;
    };
    return this.#leastLent(stage, accepts, mayLend, now);
  }

  /** The lenders that have lent the smallest part of their time so far, in a random sample of workers if there are many. */
  #leastLent(
    stage: StageView,
    accepts: Accepts,
    mayLend: (run: RunView) => boolean,
    now: Millis,
  ): Offer | undefined {
    let best: Offer | undefined;
    let least = Number.POSITIVE_INFINITY;
    for (const worker of sampleOf(this.#workers, this.#context)) {
      if (!accepts(worker)) continue;
      for (const run of worker.runs) {
        if (!mayLend(run)) continue;
        const part = run.pausedMs(now) / (this.#estimates.endOf(run, now) - run.startedAt);
        const lenders = part < least ? this.#lendersAt(run, stage, mayLend, now) : undefined;
        if (lenders === undefined) continue;
        best = { worker, loan: { lenders, atMostMs: PAUSE_MAX_MS } };
        least = part;
      }
    }
    return best;
  }

  /** Runs at the worker of the first one, including it, whose CPUs suffice for a task of the stage; undefined: none. */
  #lendersAt(
    first: RunView,
    stage: StageView,
    mayLend: (run: RunView) => boolean,
    now: Millis,
  ): readonly RunView[] | undefined {
    const { worker } = first;
    if (!worker.open || stage.gang || stage.declinedBy?.has(worker) === true) return undefined;
    if (this.#reservations.isForcedAt(worker, stage)) return undefined;
    const cpus = Math.max(1, cpusOf(stage));
    const lenders: RunView[] = [];
    for (const run of [first, ...worker.runs]) {
      // A lender with more CPUs than the task uses would keep the others idle.
      const suits = run.startedAt <= now - SETTLED_MS && cpusOf(run.stage) <= cpus;
      if (!suits || lenders.includes(run) || !mayLend(run) || !canLend(run, worker)) {
        if (run === first && lenders.length === 0) return undefined;
        continue;
      }
      lenders.push(run);
      if (hasRoomWith(lenders, stage, worker)) return lenders;
      if (lenders.length === LENDERS_MAX) return undefined;
    }
    return undefined;
  }
}

/** Number of tasks that lend to one. */
const LENDERS_MAX = 8;

/** Whether the run time of the stage's tasks is unknown: its job's pilots have not ended. */
function isUnknown({ part }: StageView): boolean {
  return part === 'pilots' || part === 'early';
}

function cpusOf({ demand }: StageView): number {
  return (demand[CPU] ?? 0) / PER_CPU;
}

import { LIMITS, type Millis } from '@goshawk/core';
import { TOLERANCE } from '../amounts.js';
import type { ClusterView, Loan, PolicyContext, RunView, StageView, WorkerView } from '../contract.js';
import { canLend, canShare, hasRoomWith, isLendable } from '../loans.js';
import type { Reservations } from '../reservations.js';
import { sampleOf } from '../reservations.js';
import type { RunTimeEstimates } from '../run-time-estimates.js';
import { Budgets, cpusOf } from './budgets.js';
import type { QueuedUser } from './kind-queues.js';
import type { UserShares } from './user-shares.js';
import type { Waiting } from './waiting.js';

/** The part of its expected run time that a task lends to short tasks at most. */
const LENT_MAX = 0.05;
/** A user's task borrows only if it would otherwise wait for at least this part of its run time. */
const WORTH_PAUSING = 0.2;
/** A task pauses for users and deadlines for at most this time; then it shares its CPUs with the borrower. */
const PAUSE_MAX_MS: Millis = 3_600_000;
/** A task pauses for a deadline for at most this many expected run times of the borrower. */
const OVERRUN_MAX = 3;
/** A task that started less than this time ago may not have reached its worker. */
const SETTLED_MS: Millis = 20;
/** Number of lenders considered for a task. */
const CANDIDATES_MAX = 32;
/** Number of workers at which lenders are searched if none of the candidates suits. */
const WORKERS_MAX = 64;

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
 * 4. Tasks for jobs that they have submitted; these do not pause. See `forChild`.
 *
 * Among possible lenders it takes those that have lent least. A lender resumes when its borrower ends.
 */
export class Lending {
  readonly #estimates: RunTimeEstimates;
  readonly #shares: UserShares;
  readonly #reservations: Reservations;
  readonly #context: PolicyContext;
  readonly #waiting: Pick<Waiting, 'kindOf'>;
  /** Open workers. */
  readonly #workers: WorkerView[] = [];
  /** Position of each open worker in the list, by id; −1: none. */
  readonly #places: number[] = [];
  /** Position of the open worker that was searched last. */
  #nextWorker = 0;
  readonly #budgets = new Budgets();
  /** Paused runs. */
  readonly #paused = new Map<RunView, Pause>();
  /** Earliest time at which a run may lend that had only just started when this plan tried it. */
  #settlesAt: Millis = Number.POSITIVE_INFINITY;
  /** For how long runs were paused for users and deadlines, which does not reduce what they lend to short tasks. */
  readonly #otherMs = new Map<RunView, Millis>();

  constructor(
    estimates: RunTimeEstimates,
    shares: UserShares,
    reservations: Reservations,
    waiting: Pick<Waiting, 'kindOf'>,
    context: PolicyContext,
  ) {
    this.#estimates = estimates;
    this.#shares = shares;
    this.#reservations = reservations;
    this.#context = context;
    this.#waiting = waiting;
  }

  /**
   * @returns when to plan again because a run may lend then that had only just started, as no message need follow;
   *   undefined: never
   */
  planEnds(): Millis | undefined {
    const at = this.#settlesAt;
    this.#settlesAt = Number.POSITIVE_INFINITY;
    return at < Number.POSITIVE_INFINITY ? at : undefined;
  }

  /** Number of CPUs that short tasks could borrow now. The reserve need not keep as many free. */
  get cpus(): number {
    return this.#budgets.cpus;
  }

  /** Whether the run may pause for short tasks. */
  lendsToShort(run: RunView): boolean {
    return this.#budgets.of(run) > 0;
  }

  /** Whether some run may pause for a short task. */
  get mayLendToShort(): boolean {
    return this.#budgets.size > 0;
  }

  /** Whether tasks lend CPUs at all. */
  get isOn(): boolean {
    return this.#context.lend !== 'none';
  }

  // ---- what may be lent

  opened(worker: WorkerView, open: boolean): void {
    this.#budgets.workerChanged(worker);
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

  /** The free resources of the worker have changed. */
  roomChanged(worker: WorkerView): void {
    this.#budgets.workerChanged(worker);
  }

  started(run: RunView, now: Millis): void {
    this.offered(run, now);
    this.roomChanged(run.worker);
    const { stage } = run;
    if (!stage.job.long && !isUnknown(stage))
      this.#budgets.shortStarted(stage, this.#estimates.taskMs(stage, now));
  }

  /** The run uses its CPUs: it has started or resumed, or its estimate has changed. */
  offered(run: RunView, now: Millis): void {
    const budgetMs = this.mayLend(run) ? this.#budgetOf(run, now) : 0;
    if (budgetMs > 0) this.#budgets.set(run, budgetMs);
    else this.#budgets.delete(run);
  }

  /** Whether the run may pause now. */
  mayLend(run: RunView): boolean {
    if (run.borrower !== undefined || run.lenders.length > 0 || run.isQueued) return false;
    return isLendable(run.stage) && this.isOn;
  }

  /** For how long the run may still pause for short tasks. */
  #budgetOf(run: RunView, now: Millis): Millis {
    const maxMs = this.#maxLentMs(run.stage, now);
    return maxMs === 0 ? 0 : maxMs - run.pausedMs(now) + (this.#otherMs.get(run) ?? 0);
  }

  check({ workers }: ClusterView): void {
    this.#budgets.check(workers);
  }

  ended(run: RunView): void {
    this.#budgets.delete(run);
    this.#otherMs.delete(run);
  }

  /** @returns false if it is known to be paused */
  paused(run: RunView, now: Millis): boolean {
    if (this.#paused.has(run)) return false;
    const { stage } = run.borrower!;
    this.#paused.set(run, { beforeMs: run.pausedMs(now), isForShort: !stage.job.long || isUnknown(stage) });
    this.#budgets.delete(run);
    return true;
  }

  /** The pause of the run has ended. @returns how long it lasted; undefined if it was not paused */
  resumed(run: RunView, now: Millis): Millis | undefined {
    const pause = this.#paused.get(run);
    if (pause === undefined) return undefined;
    this.#paused.delete(run);
    const lastedMs = run.pausedMs(now) - pause.beforeMs;
    if (!pause.isForShort) this.#otherMs.set(run, (this.#otherMs.get(run) ?? 0) + lastedMs);
    return lastedMs;
  }

  /**
   * How long a task may lend to short ones: a part of the expected time of a long one, the cutoff if its length is
   * unknown and its job large, and no time if it is short itself, or probably.
   */
  #maxLentMs(stage: StageView, now: Millis): Millis {
    const { cutoffMs } = this.#context;
    // Pilots decide the class of their job, and small jobs are probably short: a pause would delay them for others.
    if (isUnknown(stage))
      return stage.part === 'pilots' || this.#waiting.kindOf(stage) === 'small' ? 0 : cutoffMs;
    return stage.job.long ? LENT_MAX * Math.max(cutoffMs, this.#estimates.taskMs(stage, now)) : 0;
  }

  /** Expected run time of a short task. */
  get #shortTaskMs(): Millis {
    const { shortMs } = this.#budgets;
    return shortMs > 0 ? Math.min(shortMs, this.#context.cutoffMs) : this.#context.cutoffMs;
  }

  /** Whether users and deadlines borrow, too. */
  get #lendsToAll(): boolean {
    return (this.#context.lend ?? 'all') === 'all';
  }

  // ---- the rules

  /**
   * Rule 1: a short task, or one of unknown run time, borrows from one that can lend for as long as it is expected to run.
   * If it outlives the cutoff, it shares the CPU with its lender, and its worker starts nothing until a CPU is free. A task
   * that has not outlived the cutoff pauses for none of its own job, such as a pilot, because the job would not end earlier.
   */
  forShort(stage: StageView, user: QueuedUser, accepts: Accepts, now: Millis): Offer | undefined {
    const taskMs = isUnknown(stage) ? this.#shortTaskMs : this.#estimates.taskMs(stage, now);
    if (this.#budgets.size === 0 || this.#budgets.longestMs < taskMs) return undefined;
    const hasBudget = (run: RunView): boolean => this.#budgets.of(run) >= taskMs;
    const atMostMs = this.#context.cutoffMs;
    const isOther = (run: RunView): boolean =>
      run.stage.job !== stage.job || now - run.startedAt > this.#context.cutoffMs;
    const mayLend = (run: RunView): boolean => hasBudget(run) && isOther(run);
    // Users with more than their share, whose tasks may be those that have outlived the cutoff, must not add to them.
    const isBeside = user.runs === 0 || this.#isWithinShare(stage, user);
    let left = CANDIDATES_MAX;
    for (const run of this.#budgets.inOrder()) {
      if (!hasBudget(run)) return undefined;
      if (left-- === 0) break;
      if (!accepts(run.worker) || !mayLend(run)) continue;
      const lenders = this.#lendersAt(run, stage, mayLend, now, isBeside);
      if (lenders !== undefined) return { worker: run.worker, loan: { lenders, atMostMs } };
    }
    if (left >= 0) return undefined;
    // The first candidates may all be where the task cannot run.
    for (const worker of this.#nextWorkers()) {
      if (!accepts(worker) || !stage.needs.permits(worker)) continue;
      for (const run of worker.runs) {
        const lenders = mayLend(run) ? this.#lendersAt(run, stage, mayLend, now, isBeside) : undefined;
        if (lenders !== undefined) return { worker, loan: { lenders, atMostMs } };
      }
    }
    return undefined;
  }

  /** The next open workers, so that calls see all of them in turn. */
  *#nextWorkers(): Iterable<WorkerView> {
    const count = this.#workers.length;
    for (let left = Math.min(WORKERS_MAX, count); left > 0; left--) {
      this.#nextWorker = (this.#nextWorker + 1) % count;
      yield this.#workers[this.#nextWorker]!;
    }
  }

  /**
   * Rule 2: a user who has at most its fair share even with the task borrows from one who has at least its own even
   * without the lender. So two users never take a CPU back and forth. No task pauses if enough others end soon.
   */
  forUser(stage: StageView, user: QueuedUser, accepts: Accepts, now: Millis): Offer | undefined {
    const shares = this.#shares;
    if (!this.#lendsToAll || !this.#isWithinShare(stage, user)) return undefined;
    const soon = now + WORTH_PAUSING * this.#estimates.taskMs(stage, now);
    if (this.#endBefore(soon, stage, accepts, now)) return undefined;
    const mayLend = (run: RunView): boolean => {
      const lender = shares.userOf(run);
      if (lender === undefined || lender === user) return false;
      if (this.#estimates.endOf(run, now) < soon) return false;
      return lender.used - shares.shareOf(run.stage) >= shares.fairShareOf(lender) - TOLERANCE;
    };
    return this.#leastLent(stage, accepts, mayLend, now, { isBeside: true, atMostMs: PAUSE_MAX_MS });
  }

  /** Whether the user has at most its fair share even with a task of the stage. Sums of shares are rounded. */
  #isWithinShare(stage: StageView, user: QueuedUser): boolean {
    return user.used + this.#shares.shareOf(stage) <= this.#shares.fairShareOf(user) + TOLERANCE;
  }

  /** Whether enough tasks end by then that all waiting tasks of the stage can start in their places. */
  #endBefore(then: Millis, stage: StageView, accepts: Accepts, now: Millis): boolean {
    let left = stage.waiting;
    const cpus = cpusOf(stage);
    for (const worker of sampleOf(this.#workers, this.#context)) {
      if (!accepts(worker)) continue;
      for (const run of worker.runs) {
        if (run.borrower !== undefined || run.lenders.length > 0 || cpusOf(run.stage) < cpus) continue;
        if (this.#estimates.endOf(run, now) < then && --left === 0) return true;
      }
    }
    return false;
  }

  /** Rule 3: a job that has reached its latest start borrows from one without a deadline, or that still meets its own. */
  forDeadline(stage: StageView, accepts: Accepts, now: Millis): Offer | undefined {
    if (!this.#lendsToAll) return undefined;
    const taskMs = this.#estimates.taskMs(stage, now);
    const mayLend = (run: RunView): boolean => {
      const { job } = run.stage;
      return job !== stage.job && this.#estimates.endOf(run, now) + taskMs <= job.deadlineAt;
    };
    // A false estimate must not stop the tasks of others for longer.
    const atMostMs = Math.min(PAUSE_MAX_MS, Math.max(this.#context.cutoffMs, OVERRUN_MAX * taskMs));
    return this.#leastLent(stage, accepts, mayLend, now, { isBeside: false, atMostMs });
  }

  /** Rule 4: a child that fits nowhere runs on the CPUs of its parent, which usually waits for it, and does not pause. */
  forChild(stage: StageView, parent: RunView): Offer | undefined {
    const { worker } = parent;
    if (!this.isOn || stage.gang || !worker.open) return undefined;
    if (stage.declinedBy?.has(worker) === true || !canShare(parent, worker)) return undefined;
    if (!hasRoomWith([parent], stage, worker, true)) return undefined;
    return { worker, loan: { lenders: [parent], atMostMs: Number.POSITIVE_INFINITY } };
  }

  /** The lenders that have lent the smallest part of their time so far, in a random sample of workers if there are many. */
  #leastLent(
    stage: StageView,
    accepts: Accepts,
    mayLend: (run: RunView) => boolean,
    now: Millis,
    { isBeside, atMostMs }: { readonly isBeside: boolean; readonly atMostMs: Millis },
  ): Offer | undefined {
    let best: Offer | undefined;
    let least = Number.POSITIVE_INFINITY;
    for (const worker of sampleOf(this.#workers, this.#context)) {
      if (!accepts(worker)) continue;
      for (const run of worker.runs) {
        if (!mayLend(run)) continue;
        const part = run.pausedMs(now) / (this.#estimates.endOf(run, now) - run.startedAt);
        const lenders = part < least ? this.#lendersAt(run, stage, mayLend, now, isBeside) : undefined;
        if (lenders === undefined) continue;
        best = { worker, loan: { lenders, atMostMs } };
        least = part;
      }
    }
    return best;
  }

  /**
   * Runs at the worker of the first one, including it, whose CPUs suffice for a task of the stage; undefined: none.
   *
   * @param isBeside whether the task may start while tasks that have outlived their loans share CPUs there
   */
  #lendersAt(
    first: RunView,
    stage: StageView,
    mayLend: (run: RunView) => boolean,
    now: Millis,
    isBeside: boolean,
  ): readonly RunView[] | undefined {
    const { worker } = first;
    if (!worker.open || stage.gang || stage.declinedBy?.has(worker) === true) return undefined;
    // Comes before the search, because a worker may have queued many tasks, which do not lend.
    if (!canLend(first, worker) || this.#reservations.isForcedAt(worker, stage)) return undefined;
    const cpus = Math.max(1, cpusOf(stage));
    const lenders: RunView[] = [];
    for (const run of [first, ...worker.runs]) {
      // A lender with more CPUs than the task uses would keep the others idle.
      const suits =
        cpusOf(run.stage) <= cpus && !lenders.includes(run) && mayLend(run) && canLend(run, worker);
      const settlesAt = run.startedAt + SETTLED_MS;
      if (suits && settlesAt > now) this.#settlesAt = Math.min(this.#settlesAt, settlesAt);
      if (!suits || settlesAt > now) {
        if (run === first && lenders.length === 0) return undefined;
        continue;
      }
      lenders.push(run);
      if (hasRoomWith(lenders, stage, worker, isBeside)) return lenders;
      if (lenders.length === LENDERS_MAX) return undefined;
    }
    return undefined;
  }
}

/** A pause that has not ended. */
interface Pause {
  /** For how long the run had been paused before. */
  readonly beforeMs: Millis;
  /** Whether the borrower is short, or may be. */
  readonly isForShort: boolean;
}

/** Number of tasks that lend to one: as many as share a CPU. */
const LENDERS_MAX = LIMITS.placesPerCpu;

/** Whether the run time of the stage's tasks is unknown: its job's pilots have not ended. */
function isUnknown({ part }: StageView): boolean {
  return part === 'pilots' || part === 'early';
}

import type { AttemptNumber, LendingView, MessageOf, Millis, TaskIndex, TaskOfJob } from '@goshawk/core';

/** CPUs that the current or last attempt of a task has lent and borrowed. */
interface Loan {
  readonly attempt: AttemptNumber;
  /** Time for which the attempt was paused, up to `since` if it is paused now. */
  pausedMs: Millis;
  /** The task that uses its CPUs, and since when; undefined: the attempt is not paused. */
  lentTo: TaskOfJob | undefined;
  /** `lentTo` is of a job that the task has submitted: it is not paused. */
  toChild: boolean;
  since: Millis;
  /** It uses CPUs of tasks that are paused for it. */
  borrows: boolean;
  /** Tasks whose CPUs it uses, or used last; known once it has started. */
  borrowedFrom: readonly TaskOfJob[] | undefined;
  /** `borrowedFrom` is the task that has submitted the job, which is not paused. */
  fromParent: boolean;
}

/** Loans of CPUs between a job's tasks and others at the same workers. Most jobs have none. */
export class TaskLoans {
  #loans: Map<TaskIndex, Loan> | undefined;

  /** Number of attempts that are paused. */
  get paused(): number {
    let count = 0;
    for (const loan of this.#loans?.values() ?? []) if (isPaused(loan)) count++;
    return count;
  }

  /** The attempt starts on CPUs of tasks that pause. */
  borrows(task: TaskIndex, attempt: AttemptNumber): void {
    this.#loanOf(task, attempt).borrows = true;
  }

  isBorrowing(task: TaskIndex, attempt: AttemptNumber): boolean {
    const loan = this.#loans?.get(task);
    return loan?.attempt === attempt && loan.borrows;
  }

  /** The worker has paused or continued the attempt, or those that lend to it, or reports how it is now. */
  reported(
    { task, attempt, to, pausedMs, from, toChild, fromParent }: Omit<MessageOf<'lent'>, 'type' | 'job'>,
    now: Millis,
  ): void {
    const loan = this.#loanOf(task, attempt);
    if (from !== undefined) {
      loan.borrows = from.length > 0;
      if (loan.borrows) loan.borrowedFrom = from;
      loan.fromParent = fromParent === true;
      return;
    }
    loan.pausedMs = pausedMs;
    loan.lentTo = to;
    loan.toChild = toChild === true;
    loan.since = now;
  }

  /** The worker reports an attempt that has lent or borrowed. */
  held(
    { pausedMs, lentTo: to, borrowedFrom: from, ...held }: MessageOf<'holding'>['tasks'][number],
    now: Millis,
  ): void {
    // It may have a child while it runs on the CPUs of others.
    if (pausedMs !== undefined) this.reported({ ...held, to, pausedMs }, now);
    if (from !== undefined) this.reported({ ...held, to, pausedMs: 0, from }, now);
  }

  /** The attempt has ended. */
  ended({ task, attempt, pausedMs, borrowedFrom, fromParent }: MessageOf<'ended'>): void {
    if (this.#loans === undefined && pausedMs === undefined && borrowedFrom === undefined) return;
    const loan = this.#loanOf(task, attempt);
    loan.pausedMs = pausedMs ?? 0;
    loan.lentTo = undefined;
    loan.borrowedFrom = borrowedFrom;
    loan.borrows = false;
    loan.fromParent = fromParent === true;
    if (pausedMs === undefined && borrowedFrom === undefined) this.#loans?.delete(task);
  }

  /** For how long the attempt was paused until now. */
  pausedMsOf(task: TaskIndex, attempt: AttemptNumber, now: Millis): Millis {
    const loan = this.#loans?.get(task);
    if (loan?.attempt !== attempt) return 0;
    return loan.pausedMs + (isPaused(loan) ? Math.max(0, now - loan.since) : 0);
  }

  /** Fields of views; empty for an attempt that has neither lent nor borrowed. */
  viewOf(task: TaskIndex, attempt: AttemptNumber, now: Millis): LendingView {
    const loan = this.#loans?.get(task);
    if (loan?.attempt !== attempt) return NONE;
    const pausedMs = this.pausedMsOf(task, attempt, now);
    return {
      ...(pausedMs > 0 || isPaused(loan) ? { pausedMs } : {}),
      ...(loan.lentTo === undefined ? {} : { lentTo: loan.lentTo }),
      ...(loan.lentTo !== undefined && loan.toChild ? { toChild: true } : {}),
      ...(loan.borrowedFrom === undefined ? {} : { borrowedFrom: loan.borrowedFrom }),
      ...(loan.borrows ? { borrows: true } : {}),
      ...(loan.fromParent ? { fromParent: true } : {}),
    };
  }

  #loanOf(task: TaskIndex, attempt: AttemptNumber): Loan {
    this.#loans ??= new Map();
    let loan = this.#loans.get(task);
    if (loan?.attempt !== attempt) {
      const none = {
        lentTo: undefined,
        toChild: false,
        borrows: false,
        borrowedFrom: undefined,
        fromParent: false,
      };
      loan = { attempt, pausedMs: 0, since: 0, ...none };
      this.#loans.set(task, loan);
    }
    return loan;
  }
}

function isPaused({ lentTo, toChild }: Loan): boolean {
  return lentTo !== undefined && !toChild;
}

const NONE = {};

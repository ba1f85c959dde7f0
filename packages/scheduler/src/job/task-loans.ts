import type { AttemptNumber, MessageOf, Millis, TaskIndex, TaskOfJob } from '@goshawk/core';

/** CPUs that the current or last attempt of a task has lent and borrowed. */
interface Loan {
  readonly attempt: AttemptNumber;
  /** Time for which the attempt was paused, up to `since` if it is paused now. */
  pausedMs: Millis;
  /** The task that uses its CPUs, and since when; undefined: the attempt is not paused. */
  lentTo: TaskOfJob | undefined;
  since: Millis;
  /** It uses CPUs of tasks that are paused for it. */
  borrows: boolean;
  /** Tasks whose CPUs it uses, or used last; known once it has started. */
  borrowedFrom: readonly TaskOfJob[] | undefined;
}

/** Loans of CPUs between a job's tasks and others at the same workers. Most jobs have none. */
export class TaskLoans {
  #loans: Map<TaskIndex, Loan> | undefined;

  /** Number of attempts that are paused. */
  get paused(): number {
    let count = 0;
    for (const { lentTo } of this.#loans?.values() ?? []) if (lentTo !== undefined) count++;
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
    { task, attempt, to, pausedMs, from }: Omit<MessageOf<'lent'>, 'type' | 'job'>,
    now: Millis,
  ): void {
    const loan = this.#loanOf(task, attempt);
    if (from !== undefined) {
      loan.borrows = from.length > 0;
      if (loan.borrows) loan.borrowedFrom = from;
      return;
    }
    loan.pausedMs = pausedMs;
    loan.lentTo = to;
    loan.since = now;
  }

  /** The worker reports an attempt that has lent or borrowed. */
  held(
    { task, attempt, pausedMs = 0, lentTo: to, borrowedFrom: from }: MessageOf<'holding'>['tasks'][number],
    now: Millis,
  ): void {
    this.reported({ task, attempt, to, pausedMs, from }, now);
  }

  /** The attempt has ended. */
  ended({ task, attempt, pausedMs, borrowedFrom }: MessageOf<'ended'>): void {
    if (this.#loans === undefined && pausedMs === undefined && borrowedFrom === undefined) return;
    const loan = this.#loanOf(task, attempt);
    loan.pausedMs = pausedMs ?? 0;
    loan.lentTo = undefined;
    loan.borrowedFrom = borrowedFrom;
    loan.borrows = false;
    if (pausedMs === undefined && borrowedFrom === undefined) this.#loans?.delete(task);
  }

  /** For how long the attempt was paused until now. */
  pausedMsOf(task: TaskIndex, attempt: AttemptNumber, now: Millis): Millis {
    const loan = this.#loans?.get(task);
    if (loan?.attempt !== attempt) return 0;
    return loan.pausedMs + (loan.lentTo === undefined ? 0 : Math.max(0, now - loan.since));
  }

  /** Fields of views; empty for an attempt that has neither lent nor borrowed. */
  viewOf(
    task: TaskIndex,
    attempt: AttemptNumber,
    now: Millis,
  ): { pausedMs?: Millis; lentTo?: TaskOfJob; borrowedFrom?: readonly TaskOfJob[]; borrows?: boolean } {
    const loan = this.#loans?.get(task);
    if (loan?.attempt !== attempt) return NONE;
    const pausedMs = this.pausedMsOf(task, attempt, now);
    return {
      ...(pausedMs > 0 || loan.lentTo !== undefined ? { pausedMs } : {}),
      ...(loan.lentTo === undefined ? {} : { lentTo: loan.lentTo }),
      ...(loan.borrowedFrom === undefined ? {} : { borrowedFrom: loan.borrowedFrom }),
      ...(loan.borrows ? { borrows: true } : {}),
    };
  }

  #loanOf(task: TaskIndex, attempt: AttemptNumber): Loan {
    this.#loans ??= new Map();
    let loan = this.#loans.get(task);
    if (loan?.attempt !== attempt) {
      loan = { attempt, pausedMs: 0, lentTo: undefined, since: 0, borrows: false, borrowedFrom: undefined };
      this.#loans.set(task, loan);
    }
    return loan;
  }
}

const NONE = {};

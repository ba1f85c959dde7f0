import {
  type Environment,
  type MessageOf,
  type Millis,
  NOBODY,
  type Outcome,
  setLatest,
  startFault,
  type TaskIndex,
} from '@goshawk/core';
import type { WorkerCounters, WorkerEnvironment } from './contract.js';
import type { Membership } from './membership.js';

/** First quarantines in ms. Each further one is twice as long, until a task starts (`start`) or completes (`unfit`). */
const FIRST_PAUSE_MS = { start: 200, unfit: 5_000 } as const;
const PAUSE_MAX_MS = 5 * 60_000;
/**
 * Longest quarantine on the evidence of one user, as a part of the time since a task of another user completed here.
 * A user whose tasks fail on purpose keeps the worker from others only for this part of the time for which they did
 * not use it, and not at all in the minute after.
 */
const ONE_USER_PART = 1 / 12;
/** Time after the last report of a full disk for which the worker gets no tasks; reports come more often. ms */
const FULL_DISK_MS = 12_000;

type StartHealthEnvironment = Environment<'quarantine'> & Pick<WorkerEnvironment, 'quarantined'>;

/**
 * Quarantines the worker when it should not get tasks for a while. A worker on which every task fails quickly would
 * otherwise attract all the work of the cluster. Reasons: the system cannot start processes; an owner reports that
 * tasks fail here and complete elsewhere; a task whose earlier workers were lost must run alone; a disk is full; or the
 * process was suspended, so its mailbox may be stale.
 */
export class StartHealth {
  readonly #env: StartHealthEnvironment;
  readonly #membership: Membership;
  readonly #counters: Pick<WorkerCounters, 'pauses'>;
  /** Number of quarantines since a task last started, and since one last completed. */
  readonly #pauses = { start: 0, unfit: 0 };
  #until: Millis = Number.NEGATIVE_INFINITY;
  /** Reason of the quarantine; empty if there is none. */
  #reason = '';
  /** The slot whose task must run alone; undefined if the quarantine has another reason. */
  #alone: number | undefined;
  /** Whether the reason is a full disk. */
  #isDiskFull = false;
  /** The user of the latest task in each slot; empty: it has none. */
  readonly #userAt: (string | undefined)[] = [];
  /** When a task last completed here, of each of the two latest users. */
  readonly #completedAt = new Map<string, Millis>();
  /** Users whose tasks fail here and complete elsewhere, until one of the same user completes here. Two are enough. */
  readonly #accusers = new Set<string>();

  constructor(env: StartHealthEnvironment, membership: Membership, counters: Pick<WorkerCounters, 'pauses'>) {
    this.#env = env;
    this.#counters = counters;
    this.#membership = membership;
  }

  get isQuarantined(): boolean {
    return this.#reason !== '';
  }

  /** Records that a task runs in the slot. */
  ran(slot: number, user = ''): void {
    this.#userAt[slot] = user;
  }

  /** Records that a task has started. */
  started(): void {
    this.#pauses.start = 0;
  }

  /** Records the end of a run. @returns whether it caused a quarantine */
  ended(outcome: Outcome, now: Millis): boolean {
    if (startFault(outcome) !== 'worker') return false;
    return this.#pauseFor('start', `${outcome.errorCode}: ${outcome.errorMessage}`, now);
  }

  /** Records that the task in the slot has completed. */
  completed(slot: number, now: Millis): void {
    this.#pauses.unfit = 0;
    const user = this.#userAt[slot];
    if (user === undefined) return;
    setLatest(this.#completedAt, user, now, 2);
    this.#accusers.delete(user);
  }

  /**
   * Handles an owner's report that tasks fail here and complete elsewhere. The evidence of one user counts less if tasks of
   * others complete here, because tasks can fail on purpose. @returns as `ended`
   */
  unfit({ reason, user }: Pick<MessageOf<'unfit'>, 'reason' | 'user'>, now: Millis): boolean {
    if (user === undefined) return this.#pauseFor('unfit', reason, now);
    if (this.#accusers.size < 2) this.#accusers.add(user);
    if (this.#accusers.size === 2) return this.#pauseFor('unfit', reason, now);
    const atMostMs = Math.floor(ONE_USER_PART * (now - this.#othersCompletedAt(user)));
    return atMostMs >= FIRST_PAUSE_MS.unfit && this.#pauseFor('unfit', reason, now, atMostMs);
  }

  /** When a task of another user last completed here; −∞: none has. */
  #othersCompletedAt(user: string): Millis {
    let latest = Number.NEGATIVE_INFINITY;
    for (const [other, at] of this.#completedAt) if (other !== user) latest = Math.max(latest, at);
    return latest;
  }

  /** Handles a report that a disk of the worker is full, which is repeated while it is. @returns as `ended` */
  diskFull(reason: string, now: Millis): boolean {
    if (this.#isDiskFull) {
      this.#endAt(now + FULL_DISK_MS);
      return false;
    }
    this.#isDiskFull = this.#quarantine(reason, FULL_DISK_MS, now);
    return this.#isDiskFull;
  }

  /** Keeps other tasks away for `forMs`, because workers that ran this task before were lost. @returns as `ended` */
  startAlone(slot: number, jobId: string, task: TaskIndex, forMs: Millis, now: Millis): boolean {
    const reason = `runs task ${task} of ${jobId} alone, because workers that ran it before were lost`;
    if (!this.#quarantine(reason, forMs, now)) return false;
    this.#alone = slot;
    return true;
  }

  /**
   * Ends the quarantine for a task that ran alone.
   *
   * @returns whether the worker was in quarantine because of this slot
   */
  endAlone(slot: number): boolean {
    if (!this.isQuarantined || this.#alone !== slot) return false;
    this.#end();
    return true;
  }

  /**
   * Ends the quarantine at an operator's request, and counts earlier ones no more. A task that must run alone still does.
   *
   * @returns whether the worker was in quarantine
   */
  release(): boolean {
    if (!this.isQuarantined || this.#alone !== undefined) return false;
    this.#pauses.start = this.#pauses.unfit = 0;
    this.#accusers.clear();
    this.#end();
    return true;
  }

  /** Handles a suspension of the process for `gapMs`. @returns as `ended` */
  wasSuspended(gapMs: Millis, forMs: Millis, now: Millis): boolean {
    return this.#quarantine(`was suspended for ${(gapMs / 1_000).toFixed(1)} s`, forMs, now);
  }

  /** Reports a quarantine to central before each heartbeat; central ends a quarantine that is not reported again. */
  report(): void {
    if (this.isQuarantined) this.#report(this.#reason);
  }

  /** Handles the timer. @returns whether the quarantine has ended, so that the worker accepts tasks again */
  wake(now: Millis): boolean {
    if (!this.isQuarantined || now < this.#until) return false;
    this.#end();
    return true;
  }

  #pauseFor(what: 'start' | 'unfit', reason: string, now: Millis, atMostMs = PAUSE_MAX_MS): boolean {
    const pauseMs = Math.min(PAUSE_MAX_MS, atMostMs, FIRST_PAUSE_MS[what] * 2 ** this.#pauses[what]);
    if (!this.#quarantine(reason, pauseMs, now)) return false;
    this.#pauses[what]++;
    return true;
  }

  #quarantine(reason: string, forMs: Millis, now: Millis): boolean {
    if (this.isQuarantined) return false;
    this.#counters.pauses++;
    this.#reason = reason;
    this.#endAt(now + forMs);
    this.#env.quarantined?.(reason, forMs);
    this.report();
    return true;
  }

  #endAt(at: Millis): void {
    this.#until = at;
    this.#env.setTimer('quarantine', 0, at);
  }

  #end(): void {
    this.#reason = '';
    this.#isDiskFull = false;
    this.#alone = undefined;
    this.#report('');
  }

  #report(reason: string): void {
    const { central } = this.#membership;
    if (central !== NOBODY) this.#env.send(central, { type: 'quarantine', reason });
  }
}

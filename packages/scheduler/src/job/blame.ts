import type { Address, AttemptNumber, Millis, TaskIndex } from '@goshawk/core';
import type { Crashes } from './crashes.js';

/** How long a retry waits for a worker on which it has not failed, if there is one. */
const AVOIDED_MS = 120_000;
/**
 * Failures in a row at one worker, of tasks of a job that completes elsewhere, after which the worker is reported.
 */
const STREAK_TOLD_AT = 5;
/** Minimum number of completed attempts elsewhere for each failed one. */
const COMPLETED_PER_FAILURE = 9;
/** A task that was lost this often runs alone from then on; a single loss may be a coincidence. */
const APART_AT = 2;
/** A job that lost this many workers without completing a task since is on probation. */
const PROBATION_AT = 2;
/** Limits on how long a task runs alone, which is twice its longest lost run. */
const [APART_MIN_MS, APART_MAX_MS] = [10_000, 300_000];
/** First and longest back-off of a task that lost its worker; each is double the previous one. */
const [FIRST_PAUSE_MS, PAUSE_MAX_MS] = [1_000, 30_000];
/** Interval between searches for other workers after one was skipped. */
const LOOK_PAUSE_MS = 200;

const NOWHERE: readonly Address[] = [];

/** The failures of one unfinished task. */
interface Trouble {
  /** Attempts that failed by its own fault. */
  failures: number;
  /** Attempts that were lost with their workers. */
  losses: number;
  /** Workers on which it failed or could not be started, and when it last did. */
  readonly failedAt: Address[];
  lastFailedAt: Millis;
  /** The task does not run before this time. */
  pausedUntil: Millis;
  /** The attempt that last ran alone, and for how long no other task may start beside it. */
  apart: { readonly attempt: AttemptNumber; readonly forMs: Millis } | undefined;
}

/** Failures at one worker. */
interface Failing {
  /** Consecutive failures without a completed task of the job. */
  inARow: number;
  all: number;
}

/**
 * Attributes failed attempts of a job. Does a worker fail tasks that others complete, and does a task kill
 * its workers? A retry avoids workers where it failed. A task that was lost twice runs alone on a worker; if
 * that worker is lost too, only that task is charged. A job that loses workers and completes nothing is on
 * probation: it runs one task at a time, alone.
 */
export class Blame {
  readonly #tasks = new Map<TaskIndex, Trouble>();
  readonly #failing = new Map<Address, Failing>();
  #longestLostMs: Millis = 0;
  /** Consecutive lost workers without a completed task of the job. */
  #lostInARow = 0;
  #isOnProbation = false;
  #trial: { readonly task: TaskIndex; readonly attempt: AttemptNumber } | undefined;
  #lookedAt: Millis = Number.NEGATIVE_INFINITY;
  crashes: Crashes;
  /** Whether the last lost worker ran a task alone. */
  #isLastCharged = false;

  constructor(crashes: Crashes) {
    this.crashes = crashes;
  }

  /** Workers at which attempts of the job were unsuccessful. */
  get workers(): Iterable<Address> {
    return this.#failing.keys();
  }

  /** Whether the job may run only one task at a time. */
  get isOnProbation(): boolean {
    return this.#isOnProbation;
  }

  /** The attempt that was last started alone. */
  get trial(): { readonly task: TaskIndex; readonly attempt: AttemptNumber } | undefined {
    return this.#trial;
  }

  /** The job, with others that run the same program, has lost too many workers. */
  get isTooMuch(): boolean {
    return this.#isLastCharged && this.crashes.isTooMuch;
  }

  /** How often the task failed by its own fault. */
  failuresOf(task: TaskIndex): number {
    return this.#tasks.get(task)?.failures ?? 0;
  }

  /** How often these tasks failed by their own fault. */
  failuresOfAll({ first, count }: { readonly first: TaskIndex; readonly count: number }): number {
    let failures = 0;
    for (const [task, of] of this.#tasks) if (task >= first && task < first + count) failures += of.failures;
    return failures;
  }

  /** How often the task was lost with its worker. */
  lossesOf(task: TaskIndex): number {
    return this.#tasks.get(task)?.losses ?? 0;
  }

  /** An attempt failed by the task's own fault. */
  failed(task: TaskIndex, worker: Address, now: Millis): void {
    this.#troubleOf(task).failures++;
    this.notStarted(task, worker, now);
  }

  /** An attempt was unsuccessful at the worker, which the task avoids from now on. */
  notStarted(task: TaskIndex, worker: Address, now: Millis): void {
    const trouble = this.#troubleOf(task);
    if (!trouble.failedAt.includes(worker)) trouble.failedAt.push(worker);
    trouble.lastFailedAt = now;
    const failing = this.#failing.get(worker) ?? { inARow: 0, all: 0 };
    failing.inARow++;
    failing.all++;
    this.#failing.set(worker, failing);
  }

  /**
   * Number of tasks that must complete elsewhere before the worker is to blame; undefined: too few consecutive
   * failures there.
   *
   * @param failed attempts of the job that failed or could not be started
   */
  completionsToBlame(worker: Address, failed: number): number | undefined {
    const failing = this.#failing.get(worker);
    if (failing === undefined || failing.inARow < STREAK_TOLD_AT) return undefined;
    return COMPLETED_PER_FAILURE * Math.max(1, failed - failing.all);
  }

  /** The workers at which attempts of the task were unsuccessful. */
  failedAt(task: TaskIndex): readonly Address[] {
    return this.#tasks.get(task)?.failedAt ?? NOWHERE;
  }

  /** Whether any attempt of the task failed or was lost. */
  isTroubled(task: TaskIndex): boolean {
    return this.#tasks.has(task);
  }

  completed(task: TaskIndex, worker: Address): void {
    const failing = this.#failing.get(worker);
    if (failing !== undefined) failing.inARow = 0;
    this.#lostInARow = 0;
    this.#isOnProbation = false;
    this.crashes.completed();
    this.#tasks.delete(task);
  }

  /** Workers were lost with tasks of the job at the same time. */
  workersLost(workers: number): void {
    this.#lostInARow += workers;
    if (this.#lostInARow >= PROBATION_AT) this.#isOnProbation = true;
  }

  /** The attempt was lost, and the task is blamed for it. */
  lost(task: TaskIndex, attempt: AttemptNumber, runMs: Millis, now: Millis): void {
    const trouble = this.#troubleOf(task);
    const losses = ++trouble.losses;
    const ranApart = trouble.apart?.attempt === attempt;
    this.crashes.lost(ranApart, now);
    this.#isLastCharged = ranApart;
    this.#longestLostMs = Math.max(this.#longestLostMs, runMs);
    if (losses < APART_AT) return;
    trouble.pausedUntil = now + Math.min(PAUSE_MAX_MS, FIRST_PAUSE_MS * 2 ** (losses - APART_AT));
  }

  /**
   * Whether the task still had to run alone at the last heartbeat of its worker.
   *
   * @param leaseMs time after which a silent worker counts as lost
   */
  isApart(task: TaskIndex, attempt: AttemptNumber, runMs: Millis, leaseMs: Millis): boolean {
    return runMs <= (this.apartMsOf(task, attempt) ?? Number.NEGATIVE_INFINITY) + leaseMs;
  }

  /** The attempt is assigned: alone, if its task was lost too often or the job is on probation. */
  started(task: TaskIndex, attempt: AttemptNumber): void {
    if (this.lossesOf(task) < APART_AT && !this.#isOnProbation && !this.crashes.isSuspect) return;
    const forMs = Math.min(APART_MAX_MS, Math.max(APART_MIN_MS, 2 * this.#longestLostMs));
    this.#troubleOf(task).apart = { attempt, forMs };
    this.#trial = { task, attempt };
  }

  /** How long no other task may start beside the attempt; undefined: no restriction. */
  apartMsOf(task: TaskIndex, attempt: AttemptNumber): Millis | undefined {
    const apart = this.#tasks.get(task)?.apart;
    return apart?.attempt === attempt ? apart.forMs : undefined;
  }

  /** Ends the probation if the attempt on trial has survived its time alone. */
  reviewTrial(runMs: Millis): void {
    const { task, attempt } = this.#trial!;
    if (runMs <= (this.apartMsOf(task, attempt) ?? Number.POSITIVE_INFINITY)) return;
    this.#lostInARow = 0;
    this.#isOnProbation = false;
    this.crashes.outlived();
  }

  /**
   * Whether the task may run at the worker. A retry avoids workers on which it failed, and those that fail other
   * tasks.
   *
   * @param isFailing tasks of the user failed at the worker, and none completed since
   * @param sound number of other eligible workers without failures
   * @param hasOther whether there are eligible workers besides those
   */
  mayGo(
    task: TaskIndex,
    worker: Address,
    { isFailing, sound }: { readonly isFailing: boolean; readonly sound: number },
    hasOther: (besides: readonly Address[]) => boolean,
    now: Millis,
  ): boolean {
    const trouble = this.#tasks.get(task);
    if (trouble === undefined) return true;
    if (now < trouble.pausedUntil) return false;
    const { failedAt, lastFailedAt } = trouble;
    if (now - lastFailedAt >= AVOIDED_MS || failedAt.length === 0) return true;
    if (failedAt.includes(worker)) return !hasOther(failedAt);
    // At least one healthy worker is left even if the task has failed at some of them.
    return !isFailing || sound <= failedAt.length;
  }

  /** A worker was skipped: whether to look for others now; rate-limited. */
  mayLook(now: Millis): boolean {
    if (now - this.#lookedAt < LOOK_PAUSE_MS) return false;
    this.#lookedAt = now;
    return true;
  }

  #troubleOf(task: TaskIndex): Trouble {
    let trouble = this.#tasks.get(task);
    if (trouble === undefined) {
      trouble = { failures: 0, losses: 0, failedAt: [], lastFailedAt: 0, pausedUntil: 0, apart: undefined };
      this.#tasks.set(task, trouble);
    }
    return trouble;
  }
}

/**
 * Number of workers on which a task must fail to start before it is to blame; more if other tasks of its job
 * complete.
 */
const TRIED_AT = { nothingCompleted: 3, somethingCompleted: 6 } as const;
/** Maximum number of distinct start faults to remember; there is seldom more than one. */
const REASONS_MAX = 100;

/** Attributes start faults: something that the tasks name is missing at one worker, or everywhere. */
export class StartFaults {
  /** By task, the workers at which it could not be started, until the blame is decided. */
  readonly #failedAt = new Map<TaskIndex, Set<string>>();
  /** Names that several workers reported missing. */
  readonly #nowhere = new Set<string>();

  /** @returns whether the task is to blame, by the reports of this and other workers */
  isTasks(task: TaskIndex, reason: string, worker: string, workers: number, hasCompleted: boolean): boolean {
    if (!hasCompleted && this.#nowhere.has(reason)) return true;
    const at = this.#failedAt.get(task) ?? new Set();
    this.#failedAt.set(task, at.add(worker));
    const enough = hasCompleted ? TRIED_AT.somethingCompleted : TRIED_AT.nothingCompleted;
    if (at.size < Math.min(enough, Math.max(1, workers))) return false;
    this.#failedAt.delete(task);
    if (this.#nowhere.size < REASONS_MAX) this.#nowhere.add(reason);
    return true;
  }
}

import type { Address, AttemptNumber, Millis, TaskIndex } from '@goshawk/core';
import type { Crashes } from './crashes.js';

/** A retry waits for so long for a worker that it has not failed on, where there is any. */
const AVOIDED_MS = 120_000;
/** So many failures in a row at one worker, of tasks of a job that completes elsewhere, are enough to tell of it. */
const STREAK_TOLD_AT = 5;
/** The job completes elsewhere: so many attempts for each that fails. */
const COMPLETED_PER_FAILURE = 9;
/** A task that was lost so often runs apart from then on: once may happen to anybody. */
const APART_AT = 2;
/** So many workers lost, and nothing completed since: the job is on probation. */
const PROBATION_AT = 2;
/** How long a task runs apart: as long as the longest run that was lost, twice, within these. */
const [APART_MIN_MS, APART_MAX_MS] = [10_000, 300_000];
/** Before a task that was lost runs apart: the first pause, which doubles, and the longest. */
const [FIRST_PAUSE_MS, PAUSE_MAX_MS] = [1_000, 30_000];
/** Interval between searches for other workers after one was skipped. */
const LOOK_PAUSE_MS = 200;

const NOWHERE: readonly Address[] = [];

/** The failure of one unfinished task. */
interface Trouble {
  /** Attempts that failed by its own fault. */
  failures: number;
  /** Attempts that were cut short with their workers. */
  losses: number;
  /** Workers that it failed on, or could not be started on, and when it last did. */
  readonly failedAt: Address[];
  lastFailedAt: Millis;
  /** It does not run before. */
  pausedUntil: Millis;
  /** The attempt that ran apart last, or does, and for how long nothing else was to start beside it. */
  apart: { readonly attempt: AttemptNumber; readonly forMs: Millis } | undefined;
}

/** Failures at one worker. */
interface Failing {
  /** Since a task of the job completed there. */
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
  /** Workers that were lost with a task of the job since one completed. */
  #lostInARow = 0;
  #isOnProbation = false;
  #trial: { readonly task: TaskIndex; readonly attempt: AttemptNumber } | undefined;
  #lookedAt: Millis = Number.NEGATIVE_INFINITY;
  crashes: Crashes;
  /** The last worker that was lost ran a task apart. */
  #isLastCharged = false;

  constructor(crashes: Crashes) {
    this.crashes = crashes;
  }

  /** Those at which attempts of the job came to nothing. */
  get workers(): Iterable<Address> {
    return this.#failing.keys();
  }

  /** One task of the job runs at a time. */
  get isOnProbation(): boolean {
    return this.#isOnProbation;
  }

  /** The attempt that was given to run apart last. */
  get trial(): { readonly task: TaskIndex; readonly attempt: AttemptNumber } | undefined {
    return this.#trial;
  }

  /** The job, and others that run the same program, have ended too many workers. */
  get isTooMuch(): boolean {
    return this.#isLastCharged && this.crashes.isTooMuch;
  }

  /** How often the task has failed by its own fault. */
  failuresOf(task: TaskIndex): number {
    return this.#tasks.get(task)?.failures ?? 0;
  }

  /** How often tasks of these have failed by their own fault. */
  failuresOfAll({ first, count }: { readonly first: TaskIndex; readonly count: number }): number {
    let failures = 0;
    for (const [task, of] of this.#tasks) if (task >= first && task < first + count) failures += of.failures;
    return failures;
  }

  /** How often the task was cut short with its worker. */
  lossesOf(task: TaskIndex): number {
    return this.#tasks.get(task)?.losses ?? 0;
  }

  /** An attempt failed by the task's own fault. */
  failed(task: TaskIndex, worker: Address, now: Millis): void {
    this.#troubleOf(task).failures++;
    this.notStarted(task, worker, now);
  }

  /** An attempt came to nothing at the worker, which the task avoids from then on. */
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
   * So many tasks have to complete elsewhere before the worker is at fault; undefined: it fails too few in a row.
   *
   * @param failed attempts of the job that failed, or could not be started
   */
  completionsToBlame(worker: Address, failed: number): number | undefined {
    const failing = this.#failing.get(worker);
    if (failing === undefined || failing.inARow < STREAK_TOLD_AT) return undefined;
    return COMPLETED_PER_FAILURE * Math.max(1, failed - failing.all);
  }

  /** The workers that attempts of the task came to nothing at. */
  failedAt(task: TaskIndex): readonly Address[] {
    return this.#tasks.get(task)?.failedAt ?? NOWHERE;
  }

  /** An attempt of the task failed or was lost. */
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

  /** Workers were lost with tasks of the job, at one time. */
  workersLost(workers: number): void {
    this.#lostInARow += workers;
    if (this.#lostInARow >= PROBATION_AT) this.#isOnProbation = true;
  }

  /** An attempt was lost that is charged for it. */
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

  /** The task is in its time apart, or was when its worker was last heard. @param leaseMs in which a loss is noticed */
  isApart(task: TaskIndex, attempt: AttemptNumber, runMs: Millis, leaseMs: Millis): boolean {
    return runMs <= (this.apartMsOf(task, attempt) ?? Number.NEGATIVE_INFINITY) + leaseMs;
  }

  /** The attempt is given out: apart, if its task was lost too often, or the job is on probation. */
  started(task: TaskIndex, attempt: AttemptNumber): void {
    if (this.lossesOf(task) < APART_AT && !this.#isOnProbation && !this.crashes.isSuspect) return;
    const forMs = Math.min(APART_MAX_MS, Math.max(APART_MIN_MS, 2 * this.#longestLostMs));
    this.#troubleOf(task).apart = { attempt, forMs };
    this.#trial = { task, attempt };
  }

  /** For how long nothing else is to start where the attempt runs; undefined: it runs like any other. */
  apartMsOf(task: TaskIndex, attempt: AttemptNumber): Millis | undefined {
    const apart = this.#tasks.get(task)?.apart;
    return apart?.attempt === attempt ? apart.forMs : undefined;
  }

  /** The attempt on trial has run for so long: once it has outlived its time apart, the probation ends. */
  reviewTrial(runMs: Millis): void {
    const { task, attempt } = this.#trial!;
    if (runMs <= (this.apartMsOf(task, attempt) ?? Number.POSITIVE_INFINITY)) return;
    this.#lostInARow = 0;
    this.#isOnProbation = false;
    this.crashes.outlived();
  }

  /**
   * Whether the task may go to the worker. A retry avoids workers that it failed on, and those that fail other tasks.
   *
   * @param isFailing tasks of the user failed at the worker, and none completed since
   * @param sound so many other workers could run it at which none fails
   * @param hasOther whether there are workers that could run it besides those
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
    // One of the sound ones is left even if the task has failed at some of them.
    return !isFailing || sound <= failedAt.length;
  }

  /** A worker was passed over: others may be looked for, unless that was done a moment ago. */
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

/** A task that cannot be started on so many workers is at fault; on more where other tasks of its job do complete. */
const TRIED_AT = { nothingCompleted: 3, somethingCompleted: 6 } as const;
/** Distinct start faults to remember; there is seldom more than one. */
const REASONS_MAX = 100;

/** Attributes start faults: something the tasks name is missing at a worker, or everywhere. */
export class StartFaults {
  /** By task, at which workers it could not be started, while it is not known whose fault that is. */
  readonly #failedAt = new Map<TaskIndex, Set<string>>();
  /** Names that several workers reported missing. */
  readonly #nowhere = new Set<string>();

  /** @returns whether it is the task's, by what workers have said: this one, of so many */
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

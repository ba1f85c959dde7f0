import type { Address, AttemptNumber, Millis, TaskIndex } from '@goshawk/core';
import type { Crashes } from './crashes.js';

/** How long a retry waits for a worker on which it has not failed, if there is one. */
const AVOID_WORKER_MS = 120_000;
/**
 * Failures in a row at one worker, of tasks of a job that completes elsewhere, after which the worker is reported.
 */
const CONSECUTIVE_FAILURES_MIN = 5;
/** Minimum number of completed attempts elsewhere for each failed one. */
const COMPLETED_PER_FAILURE = 9;
/** A task that was lost this often runs alone from then on; a single loss may be a coincidence. */
const ISOLATED_AFTER_LOSSES = 2;
/** A job that lost this many workers without completing a task since is on probation. */
const PROBATION_AFTER_LOSSES = 2;
/** Limits on how long a task runs alone, which is twice its longest lost run. */
const [ISOLATION_MIN_MS, ISOLATION_MAX_MS] = [10_000, 300_000];
/** First and longest back-off of a task that lost its worker; each is double the previous one. */
const [BACKOFF_MIN_MS, BACKOFF_MAX_MS] = [1_000, 30_000];
/** Interval between searches for other workers after one was skipped. */
const SEARCH_INTERVAL_MS = 200;

const NO_WORKERS: readonly Address[] = [];

/** The failures of one unfinished task. */
interface TaskFailures {
  /** Attempts that failed by its own fault. */
  failures: number;
  /** Attempts that were lost with their workers. */
  losses: number;
  /** Workers on which it failed or could not be started, and when it last did. */
  readonly failedWorkers: Address[];
  lastFailedAt: Millis;
  /** The task does not run before this time. */
  backoffUntil: Millis;
  /** The attempt that last ran alone, and for how long no other task may start beside it. */
  isolation: { readonly attempt: AttemptNumber; readonly durationMs: Millis } | undefined;
}

/** Failures at one worker. */
interface WorkerFailures {
  /** Consecutive failures without a completed task of the job. */
  consecutive: number;
  total: number;
}

/**
 * Attributes failed attempts of a job. Does a worker fail tasks that others complete, and does a task kill
 * its workers? A retry avoids workers where it failed. A task that was lost twice runs alone on a worker; if
 * that worker is lost too, only that task is charged. A job that loses workers and completes nothing is on
 * probation: it runs one task at a time, alone.
 */
export class Blame {
  readonly #failuresByTask = new Map<TaskIndex, TaskFailures>();
  readonly #failuresByWorker = new Map<Address, WorkerFailures>();
  #longestLostMs: Millis = 0;
  /** Consecutive lost workers without a completed task of the job. */
  #consecutiveLosses = 0;
  #isOnProbation = false;
  #trial: { readonly task: TaskIndex; readonly attempt: AttemptNumber } | undefined;
  #searchedAt: Millis = Number.NEGATIVE_INFINITY;
  crashes: Crashes;
  /** Whether the last lost worker ran a task alone. */
  #lastLossRanAlone = false;

  constructor(crashes: Crashes) {
    this.crashes = crashes;
  }

  /** Workers at which attempts of the job were unsuccessful. */
  get failedWorkers(): Iterable<Address> {
    return this.#failuresByWorker.keys();
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
  get exceedsLossLimit(): boolean {
    return this.#lastLossRanAlone && this.crashes.exceedsLimit;
  }

  /** How often the task failed by its own fault. */
  failuresOf(task: TaskIndex): number {
    return this.#failuresByTask.get(task)?.failures ?? 0;
  }

  /** How often these tasks failed by their own fault. */
  failuresInRange({ first, count }: { readonly first: TaskIndex; readonly count: number }): number {
    let failures = 0;
    for (const [task, of] of this.#failuresByTask)
      if (task >= first && task < first + count) failures += of.failures;
    return failures;
  }

  /** How often the task was lost with its worker. */
  lossesOf(task: TaskIndex): number {
    return this.#failuresByTask.get(task)?.losses ?? 0;
  }

  /** An attempt failed by the task's own fault. */
  failed(task: TaskIndex, worker: Address, now: Millis): void {
    this.#failuresOrNew(task).failures++;
    this.notStarted(task, worker, now);
  }

  /** An attempt was unsuccessful at the worker, which the task avoids from now on. */
  notStarted(task: TaskIndex, worker: Address, now: Millis): void {
    const trouble = this.#failuresOrNew(task);
    if (!trouble.failedWorkers.includes(worker)) trouble.failedWorkers.push(worker);
    trouble.lastFailedAt = now;
    const failing = this.#failuresByWorker.get(worker) ?? { consecutive: 0, total: 0 };
    failing.consecutive++;
    failing.total++;
    this.#failuresByWorker.set(worker, failing);
  }

  /**
   * Number of tasks that must complete elsewhere before the worker is to blame; undefined: too few consecutive
   * failures there.
   *
   * @param failed attempts of the job that failed or could not be started
   */
  completionsToBlame(worker: Address, failed: number): number | undefined {
    const failing = this.#failuresByWorker.get(worker);
    if (failing === undefined || failing.consecutive < CONSECUTIVE_FAILURES_MIN) return undefined;
    return COMPLETED_PER_FAILURE * Math.max(1, failed - failing.total);
  }

  /** The workers at which attempts of the task were unsuccessful. */
  failedWorkersOf(task: TaskIndex): readonly Address[] {
    return this.#failuresByTask.get(task)?.failedWorkers ?? NO_WORKERS;
  }

  /** Whether any attempt of the task failed or was lost. */
  hasFailures(task: TaskIndex): boolean {
    return this.#failuresByTask.has(task);
  }

  completed(task: TaskIndex, worker: Address): void {
    const failing = this.#failuresByWorker.get(worker);
    if (failing !== undefined) failing.consecutive = 0;
    this.#consecutiveLosses = 0;
    this.#isOnProbation = false;
    this.crashes.completed();
    this.#failuresByTask.delete(task);
  }

  /** Workers were lost with tasks of the job at the same time. */
  workersLost(workers: number): void {
    this.#consecutiveLosses += workers;
    if (this.#consecutiveLosses >= PROBATION_AFTER_LOSSES) this.#isOnProbation = true;
  }

  /** The attempt was lost, and the task is blamed for it. */
  lost(task: TaskIndex, attempt: AttemptNumber, runMs: Millis, now: Millis): void {
    const trouble = this.#failuresOrNew(task);
    const losses = ++trouble.losses;
    const ranApart = trouble.isolation?.attempt === attempt;
    this.crashes.lost(ranApart, now);
    this.#lastLossRanAlone = ranApart;
    this.#longestLostMs = Math.max(this.#longestLostMs, runMs);
    if (losses < ISOLATED_AFTER_LOSSES) return;
    trouble.backoffUntil =
      now + Math.min(BACKOFF_MAX_MS, BACKOFF_MIN_MS * 2 ** (losses - ISOLATED_AFTER_LOSSES));
  }

  /**
   * Whether the task still had to run alone at the last heartbeat of its worker.
   *
   * @param leaseMs time after which a silent worker counts as lost
   */
  ranAlone(task: TaskIndex, attempt: AttemptNumber, runMs: Millis, leaseMs: Millis): boolean {
    return runMs <= (this.isolationMsOf(task, attempt) ?? Number.NEGATIVE_INFINITY) + leaseMs;
  }

  /** The attempt is assigned: alone, if its task was lost too often or the job is on probation. */
  started(task: TaskIndex, attempt: AttemptNumber): void {
    if (this.lossesOf(task) < ISOLATED_AFTER_LOSSES && !this.#isOnProbation && !this.crashes.isSuspect)
      return;
    const forMs = Math.min(ISOLATION_MAX_MS, Math.max(ISOLATION_MIN_MS, 2 * this.#longestLostMs));
    this.#failuresOrNew(task).isolation = { attempt, durationMs: forMs };
    this.#trial = { task, attempt };
  }

  /** How long no other task may start beside the attempt; undefined: no restriction. */
  isolationMsOf(task: TaskIndex, attempt: AttemptNumber): Millis | undefined {
    const apart = this.#failuresByTask.get(task)?.isolation;
    return apart?.attempt === attempt ? apart.durationMs : undefined;
  }

  /** Ends the probation if the attempt on trial has survived its time alone. */
  reviewTrial(runMs: Millis): void {
    const { task, attempt } = this.#trial!;
    if (runMs <= (this.isolationMsOf(task, attempt) ?? Number.POSITIVE_INFINITY)) return;
    this.#consecutiveLosses = 0;
    this.#isOnProbation = false;
    this.crashes.survivedAlone();
  }

  /**
   * Whether the task may run at the worker. A retry avoids workers on which it failed, and those that fail other
   * tasks.
   *
   * @param isFailing tasks of the user failed at the worker, and none completed since
   * @param sound number of other eligible workers without failures
   * @param hasOther whether there are eligible workers besides those
   */
  mayRunAt(
    task: TaskIndex,
    worker: Address,
    { isFailing, sound }: { readonly isFailing: boolean; readonly sound: number },
    hasOther: (besides: readonly Address[]) => boolean,
    now: Millis,
  ): boolean {
    const trouble = this.#failuresByTask.get(task);
    if (trouble === undefined) return true;
    if (now < trouble.backoffUntil) return false;
    const { failedWorkers, lastFailedAt } = trouble;
    if (now - lastFailedAt >= AVOID_WORKER_MS || failedWorkers.length === 0) return true;
    if (failedWorkers.includes(worker)) return !hasOther(failedWorkers);
    // At least one healthy worker is left even if the task has failed at some of them.
    return !isFailing || sound <= failedWorkers.length;
  }

  /** A worker was skipped: whether to look for others now; rate-limited. */
  maySearch(now: Millis): boolean {
    if (now - this.#searchedAt < SEARCH_INTERVAL_MS) return false;
    this.#searchedAt = now;
    return true;
  }

  #failuresOrNew(task: TaskIndex): TaskFailures {
    let trouble = this.#failuresByTask.get(task);
    if (trouble === undefined) {
      trouble = {
        failures: 0,
        losses: 0,
        failedWorkers: [],
        lastFailedAt: 0,
        backoffUntil: 0,
        isolation: undefined,
      };
      this.#failuresByTask.set(task, trouble);
    }
    return trouble;
  }
}

/**
 * Number of workers on which a task must fail to start before it is to blame; more if other tasks of its job
 * complete.
 */
const WORKERS_TO_TRY = { nothingCompleted: 3, somethingCompleted: 6 } as const;
/** Maximum number of distinct start faults to remember; there is seldom more than one. */
const REASONS_MAX = 100;

/** Attributes start faults: something that the tasks name is missing at one worker, or everywhere. */
export class StartFaults {
  /** By task, the workers at which it could not be started, until the blame is decided. */
  readonly #failedWorkers = new Map<TaskIndex, Set<string>>();
  /** Names that several workers reported missing. */
  readonly #missingEverywhere = new Set<string>();

  /** @returns whether the task is to blame, by the reports of this and other workers */
  isTaskToBlame(
    task: TaskIndex,
    reason: string,
    worker: string,
    workers: number,
    hasCompleted: boolean,
  ): boolean {
    if (!hasCompleted && this.#missingEverywhere.has(reason)) return true;
    const at = this.#failedWorkers.get(task) ?? new Set();
    this.#failedWorkers.set(task, at.add(worker));
    const enough = hasCompleted ? WORKERS_TO_TRY.somethingCompleted : WORKERS_TO_TRY.nothingCompleted;
    if (at.size < Math.min(enough, Math.max(1, workers))) return false;
    this.#failedWorkers.delete(task);
    if (this.#missingEverywhere.size < REASONS_MAX) this.#missingEverywhere.add(reason);
    return true;
  }
}

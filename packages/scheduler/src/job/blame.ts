import type { Address, AttemptNumber, Millis, TaskIndex } from '@goshawk/core';
import { type Crashes, LostWorkers } from './crashes.js';

/** How long a retry avoids workers on which its task failed, if others are eligible. */
const AVOID_WORKER_MS = 120_000;
/** Number of consecutive failures at a worker before it may be reported as unfit. */
const CONSECUTIVE_FAILURES_MIN = 5;
/** A worker is reported only if this many tasks completed elsewhere for each attempt that failed elsewhere. */
const COMPLETED_PER_FAILURE = 9;
/** A task runs alone after this many lost workers. A single loss may be a coincidence. */
const ISOLATED_AFTER_LOSSES = 2;
/** A job is on probation after this many consecutive lost workers without a completed task. */
const PROBATION_AFTER_LOSSES = 2;
/** Limits on how long a task runs alone: twice the longest run that was lost. */
const [ISOLATION_MIN_MS, ISOLATION_MAX_MS] = [10_000, 300_000];
/** Limits on the back-off of a task that lost several workers. It doubles with each loss. */
const [BACKOFF_MIN_MS, BACKOFF_MAX_MS] = [1_000, 30_000];
/** Minimum interval between searches for other workers after a worker was skipped. */
const SEARCH_INTERVAL_MS = 200;

const NO_WORKERS: readonly Address[] = [];

/** The failures of one unfinished task. */
interface TaskFailures {
  /** Failed attempts, without lost ones. */
  failures: number;
  /** Attempts that were lost with their workers. */
  losses: number;
  /** The lost workers as evidence against the task; undefined: none. */
  lostWorkers: LostWorkers | undefined;
  /** Workers on which it failed or could not be started. */
  readonly failedWorkers: Address[];
  lastFailedAt: Millis;
  /** The attempt that last ran alone, and how long no other task may start on its worker. */
  alone: { readonly attempt: AttemptNumber; readonly durationMs: Millis } | undefined;
}

/** Failures at one worker. */
interface WorkerFailures {
  /** Failures since a task of the job last completed there. */
  consecutive: number;
  total: number;
}

/**
 * Attributes the failed attempts of a job to tasks or workers.
 *
 * - A retry avoids workers on which its task failed.
 * - A task that lost two workers runs alone on the next one. If that worker is lost too, only this task is charged.
 * - A job that loses workers without completing tasks is on probation: it runs one task at a time, alone.
 */
export class Blame {
  readonly #failuresByTask = new Map<TaskIndex, TaskFailures>();
  readonly #failuresByWorker = new Map<Address, WorkerFailures>();
  #longestLostMs: Millis = 0;
  /** Workers lost since a task of the job last completed. */
  readonly #consecutiveLosses = new LostWorkers();
  #isOnProbation = false;
  #trial: { readonly task: TaskIndex; readonly attempt: AttemptNumber } | undefined;
  #searchedAt: Millis = Number.NEGATIVE_INFINITY;
  crashes: Crashes;
  /** Whether the attempt that was lost last ran alone. */
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

  /** Whether the job, together with others that run the same program, has lost too many workers. */
  get exceedsLossLimit(): boolean {
    return this.#lastLossRanAlone && this.crashes.exceedsLimit;
  }

  /** Number of failed attempts of the task. */
  failuresOf(task: TaskIndex): number {
    return this.#failuresByTask.get(task)?.failures ?? 0;
  }

  /** Number of failed attempts of all these tasks. */
  failuresInRange({ first, count }: { readonly first: TaskIndex; readonly count: number }): number {
    let failures = 0;
    for (const [task, each] of this.#failuresByTask)
      if (task >= first && task < first + count) failures += each.failures;
    return failures;
  }

  /** Number of attempts of the task that were lost with their workers. */
  lossesOf(task: TaskIndex): number {
    return this.#failuresByTask.get(task)?.losses ?? 0;
  }

  /** An attempt of the task failed. */
  failed(task: TaskIndex, worker: Address, now: Millis): void {
    this.#failuresOrNew(task).failures++;
    this.notStarted(task, worker, now);
  }

  /** An attempt failed or could not start at the worker. The task avoids the worker from now on. */
  notStarted(task: TaskIndex, worker: Address, now: Millis): void {
    const failures = this.#failuresOrNew(task);
    if (!failures.failedWorkers.includes(worker)) failures.failedWorkers.push(worker);
    failures.lastFailedAt = now;
    const failing = this.#failuresByWorker.get(worker) ?? { consecutive: 0, total: 0 };
    failing.consecutive++;
    failing.total++;
    this.#failuresByWorker.set(worker, failing);
  }

  /**
   * Number of tasks that must have completed elsewhere to blame the worker.
   *
   * @param failed attempts of the job that failed or could not be started, at all workers
   * @returns undefined: too few consecutive failures at the worker
   */
  completionsToBlame(worker: Address, failed: number): number | undefined {
    const failing = this.#failuresByWorker.get(worker);
    if (failing === undefined || failing.consecutive < CONSECUTIVE_FAILURES_MIN) return undefined;
    return COMPLETED_PER_FAILURE * Math.max(1, failed - failing.total);
  }

  /** Workers at which attempts of the task failed or could not start. */
  failedWorkersOf(task: TaskIndex): readonly Address[] {
    return this.#failuresByTask.get(task)?.failedWorkers ?? NO_WORKERS;
  }

  /** Whether any attempt of the unfinished task was unsuccessful. */
  hasFailures(task: TaskIndex): boolean {
    return this.#failuresByTask.has(task);
  }

  completed(task: TaskIndex, worker: Address): void {
    const failing = this.#failuresByWorker.get(worker);
    if (failing !== undefined) failing.consecutive = 0;
    this.#consecutiveLosses.clear();
    this.#isOnProbation = false;
    this.crashes.completed();
    this.#failuresByTask.delete(task);
  }

  /** Workers were lost with tasks of the job at the same time. @param workers as in `LostWorkers` */
  countLostWorkers(workers: readonly (string | undefined)[]): void {
    for (const worker of workers) this.#consecutiveLosses.add(worker);
    if (this.#consecutiveLosses.count >= PROBATION_AFTER_LOSSES) this.#isOnProbation = true;
  }

  /** The attempt was lost with its worker, and the task is blamed. @param worker as in `LostWorkers` */
  attemptLost(
    task: TaskIndex,
    attempt: AttemptNumber,
    worker: string | undefined,
    runMs: Millis,
    now: Millis,
  ): void {
    const failures = this.#failuresOrNew(task);
    failures.losses++;
    failures.lostWorkers ??= new LostWorkers();
    failures.lostWorkers.add(worker);
    const ranAlone = failures.alone?.attempt === attempt;
    this.crashes.attemptLost(worker, ranAlone, now);
    this.#lastLossRanAlone = ranAlone;
    this.#longestLostMs = Math.max(this.#longestLostMs, runMs);
  }

  /** Duration of the back-off of a task whose worker was lost; 0: none, as after its first loss. */
  lossBackoffMsOf(task: TaskIndex): Millis {
    const further = this.lossesOf(task) - ISOLATED_AFTER_LOSSES;
    return further < 0 ? 0 : Math.min(BACKOFF_MAX_MS, BACKOFF_MIN_MS * 2 ** further);
  }

  /**
   * Whether the lost attempt ran alone at the last heartbeat of its worker.
   *
   * @param runMs time from its start until its worker counted as lost
   * @param leaseMs time without heartbeats after which a worker counts as lost
   */
  ranAlone(task: TaskIndex, attempt: AttemptNumber, runMs: Millis, leaseMs: Millis): boolean {
    return runMs <= (this.aloneMsOf(task, attempt) ?? Number.NEGATIVE_INFINITY) + leaseMs;
  }

  /** The attempt was assigned. It runs alone if its task is suspect or its job is on probation. */
  started(task: TaskIndex, attempt: AttemptNumber): void {
    const lost = this.#failuresByTask.get(task)?.lostWorkers?.count ?? 0;
    if (lost < ISOLATED_AFTER_LOSSES && !this.#isOnProbation && !this.crashes.isSuspect) return;
    const forMs = Math.min(ISOLATION_MAX_MS, Math.max(ISOLATION_MIN_MS, 2 * this.#longestLostMs));
    this.#failuresOrNew(task).alone = { attempt, durationMs: forMs };
    this.#trial = { task, attempt };
  }

  /** How long no other task may start on the attempt's worker; undefined: no restriction. */
  aloneMsOf(task: TaskIndex, attempt: AttemptNumber): Millis | undefined {
    const alone = this.#failuresByTask.get(task)?.alone;
    return alone?.attempt === attempt ? alone.durationMs : undefined;
  }

  /** Ends the probation if the attempt that was last started alone has outlived its time alone. */
  reviewTrial(runMs: Millis): void {
    const { task, attempt } = this.#trial!;
    if (runMs <= (this.aloneMsOf(task, attempt) ?? Number.POSITIVE_INFINITY)) return;
    this.#consecutiveLosses.clear();
    this.#isOnProbation = false;
    this.crashes.survivedAlone();
  }

  /**
   * Whether the task may run at the worker. A retry avoids workers on which its task or other tasks failed.
   *
   * @param isFailing whether tasks of the user failed at the worker, and none has completed since
   * @param healthy number of eligible workers without such failures
   * @param hasOther whether workers other than these are eligible
   */
  mayRunAt(
    task: TaskIndex,
    worker: Address,
    { isFailing, healthy }: { readonly isFailing: boolean; readonly healthy: number },
    hasOther: (besides: readonly Address[]) => boolean,
    now: Millis,
  ): boolean {
    const failures = this.#failuresByTask.get(task);
    if (failures === undefined) return true;
    const { failedWorkers, lastFailedAt } = failures;
    if (now - lastFailedAt >= AVOID_WORKER_MS || failedWorkers.length === 0) return true;
    if (failedWorkers.includes(worker)) return !hasOther(failedWorkers);
    // If there are more healthy workers than those where the task failed, it can run at one of them.
    return !isFailing || healthy <= failedWorkers.length;
  }

  /** Whether to search for other workers now, after one was skipped. Limits the rate of searches. */
  maySearch(now: Millis): boolean {
    if (now - this.#searchedAt < SEARCH_INTERVAL_MS) return false;
    this.#searchedAt = now;
    return true;
  }

  #failuresOrNew(task: TaskIndex): TaskFailures {
    let failures = this.#failuresByTask.get(task);
    if (failures === undefined) {
      failures = {
        failures: 0,
        losses: 0,
        lostWorkers: undefined,
        failedWorkers: [],
        lastFailedAt: 0,
        alone: undefined,
      };
      this.#failuresByTask.set(task, failures);
    }
    return failures;
  }
}

/** Number of workers on which a task must fail to start before the task is to blame. */
const WORKERS_TO_TRY = { nothingCompleted: 3, somethingCompleted: 6 } as const;
/** Maximum number of distinct start faults that are stored. Jobs seldom have more than one. */
const REASONS_MAX = 100;

/** Decides whether a command or file that a task needs is missing at one worker or at all workers. */
export class StartFaults {
  /** Workers at which a task could not be started, by task, until the task is to blame. */
  readonly #failedWorkers = new Map<TaskIndex, Set<string>>();
  /** Reasons that enough workers have reported. */
  readonly #clusterWide = new Set<string>();

  /** Adds a worker's report. @returns whether the task is to blame */
  isTaskToBlame(
    task: TaskIndex,
    reason: string,
    worker: string,
    workers: number,
    hasCompleted: boolean,
  ): boolean {
    if (!hasCompleted && this.#clusterWide.has(reason)) return true;
    const tried = this.#failedWorkers.get(task) ?? new Set();
    this.#failedWorkers.set(task, tried.add(worker));
    const enough = hasCompleted ? WORKERS_TO_TRY.somethingCompleted : WORKERS_TO_TRY.nothingCompleted;
    if (tried.size < Math.min(enough, Math.max(1, workers))) return false;
    this.#failedWorkers.delete(task);
    if (this.#clusterWide.size < REASONS_MAX) this.#clusterWide.add(reason);
    return true;
  }
}

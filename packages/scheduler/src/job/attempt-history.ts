import {
  type Address,
  GANG_ENDED,
  isOwnersEnd,
  type JobSpec,
  LIMITS,
  type Millis,
  type Outcome,
  startFault,
  startFaultOf,
  type TaskIndex,
} from '@goshawk/core';
import { Blame, StartFaults } from './blame.js';
import { Crashes, programOf } from './crashes.js';
import { LOST } from './outcomes.js';
import { isRetryable } from './retrying.js';
import { TaskReports } from './task-reports.js';
import { TaskState, type TaskTable } from './task-table.js';

/** The end of a task's current attempt. */
export interface AttemptEnd {
  readonly task: TaskIndex;
  readonly outcome: Outcome;
  readonly runMs: Millis;
  /** Position in the journal; undefined if it cannot be read back. */
  position: number | undefined;
}

/** The attempts of a job, and the causes of unsuccessful ones. */
export class AttemptHistory {
  readonly reports: TaskReports;
  /** Number of all attempts. */
  total = 0;
  /** Failures caused by tasks. */
  failedCount = 0;
  lostCount = 0;
  wastedMs: Millis = 0;
  /** Total run time of the completed tasks. */
  completedRunMs: Millis = 0;
  /** Longest run. */
  longestRunMs: Millis = 0;
  readonly #job: { readonly id: string; readonly spec: JobSpec; readonly acceptedAt: Millis };
  readonly #tasks: TaskTable;
  /** Number of attempts that workers could not start. */
  #failedStarts = 0;
  // Created on demand, because most jobs need none of these.
  #startFaults: StartFaults | undefined;
  #blame: Blame | undefined;
  #crashes: Crashes | undefined;
  /** NaN: the work cannot kill workers. */
  #program: number | undefined;

  constructor(
    job: {
      readonly number: number;
      readonly id: string;
      readonly spec: JobSpec;
      readonly acceptedAt: Millis;
    },
    tasks: TaskTable,
  ) {
    this.#job = job;
    this.#tasks = tasks;
    this.reports = new TaskReports(job.number, job.spec.openMs !== undefined);
  }

  /** undefined as long as no attempt was unsuccessful. */
  get blame(): Blame | undefined {
    return this.#blame;
  }

  /** Workers were lost with tasks of the job, so it runs one task at a time. */
  get isOnProbation(): boolean {
    return this.#blame?.isOnProbation === true;
  }

  /** Whether the task that was last started alone still runs. */
  get isTrialRunning(): boolean {
    const trial = this.#blame?.trial;
    if (trial === undefined) return false;
    const { task, attempt } = trial;
    return this.#tasks.stateOf(task) === TaskState.running && this.#tasks.attemptOf(task) === attempt;
  }

  /** Whether to look for another worker now; rate-limited if workers are skipped repeatedly. */
  maySearch(now: Millis): boolean {
    return this.#blame?.maySearch(now) !== false;
  }

  /** The job has lost too many workers, so its remaining tasks fail. */
  get hasLostTooManyWorkers(): boolean {
    return this.#blame?.exceedsLossLimit === true;
  }

  /** The ended task runs again; its earlier failures no longer count. */
  resetFailures(): void {
    this.#failedStarts = 0;
    this.#startFaults = undefined;
    this.#blame = undefined;
    this.#crashes?.reset();
  }

  /** Identifies the work of the job, to compare crashes between jobs; undefined if it cannot kill workers. */
  get program(): number | undefined {
    this.#program ??= programOf(this.#job.spec) ?? Number.NaN;
    return Number.isNaN(this.#program) ? undefined : this.#program;
  }

  /** Counts lost workers together with all jobs of the same program from now on. */
  shareCrashes(crashes: Crashes | undefined): void {
    if (crashes === undefined || crashes === this.#crashes) return;
    if (this.#crashes !== undefined) crashes.merge(this.#crashes);
    this.#crashes = crashes;
    this.#blameOrNew().crashes = crashes;
  }

  /** Counts an attempt that an earlier incarnation of the owner started. */
  countAttempt(task: TaskIndex): void {
    this.total++;
    this.#tasks.setExecutions(task, this.#tasks.executionsOf(task) + 1);
  }

  /** The current attempt has not started and will not; it does not count. */
  notStarted(task: TaskIndex): void {
    this.total--;
    this.#tasks.setExecutions(task, this.#tasks.executionsOf(task) - 1);
  }

  /** A worker was given the task. */
  started(task: TaskIndex): void {
    this.countAttempt(task);
    this.#blame?.started(task, this.#tasks.attemptOf(task));
  }

  /** A task that has survived its time alone clears the job. */
  reviewTrial(now: Millis): void {
    const trial = this.#blame?.trial;
    if (trial !== undefined && this.isTrialRunning)
      this.#blame?.reviewTrial(now - this.#tasks.startedAtOf(trial.task));
  }

  /**
   * The current attempt failed by the task's own fault.
   *
   * @param gang whose members' failures count together
   * @returns whether the task may be retried
   */
  failed(
    end: AttemptEnd,
    worker: string,
    now: Millis,
    gang?: { readonly first: TaskIndex; readonly count: number },
  ): boolean {
    const { task, outcome, position } = end;
    if (isOwnersEnd(outcome)) {
      if (end.runMs > 0) this.#addUnsuccessful(end, worker, now);
      this.reports.setError(task, { outcome, worker }, position);
      return false;
    }
    this.failedCount++;
    this.#addUnsuccessful(end, worker, now);
    this.reports.setError(task, { outcome, worker }, position);
    const blame = this.#blameOrNew();
    blame.failed(task, this.#tasks.workerOf(task), now);
    // A missing file will still be missing at a retry.
    if (startFaultOf(outcome.errorCode) === 'unclear') return false;
    const failures = gang === undefined ? blame.failuresOf(task) : blame.failuresInRange(gang);
    return failures <= this.#job.spec.retries && isRetryable(this.#job.spec, outcome);
  }

  /** The current attempt completed. */
  completed({ task, outcome, runMs, position }: AttemptEnd): void {
    this.completedRunMs += runMs;
    this.longestRunMs = Math.max(this.longestRunMs, runMs);
    this.reports.setValue(task, outcome.value, position);
    this.reports.setGpus(task, outcome.gpus, position);
    this.#blame?.completed(task, this.#tasks.workerOf(task));
  }

  /**
   * The worker of the current attempt was lost or stopped. That costs no retry, but a task fails after losing too
   * many workers.
   *
   * @param isCancelling the loss then says nothing about the task
   * @returns whether to retry the task
   */
  lost(task: TaskIndex, worker: string, runMs: Millis, isCancelling: boolean, now: Millis): boolean {
    this.lostCount++;
    this.#addUnsuccessful({ task, outcome: LOST, runMs, position: undefined }, worker, now);
    const blame = this.#blameOrNew();
    const attempt = this.#tasks.attemptOf(task);
    const wasApart = blame.isolationMsOf(task, attempt) !== undefined;
    blame.lost(task, attempt, runMs, now);
    if (isCancelling) return false;
    const losses = blame.lossesOf(task);
    if (losses < LIMITS.lossesPerTaskMax) return true;
    const mayBe = wasApart
      ? '; no other task started there, so it may need more memory than the worker has'
      : '';
    const message = `lost its worker ${losses} times and was abandoned${mayBe}`;
    this.reports.setError(task, { outcome: { ...LOST, errorMessage: message }, worker });
    return false;
  }

  /** The current attempt was unsuccessful without evidence against the task. */
  excused(end: AttemptEnd, worker: string, now: Millis): void {
    this.#addUnsuccessful(end, worker, now);
    if (end.outcome.errorCode === GANG_ENDED) return;
    if (startFault(end.outcome) === undefined) {
      this.lostCount++;
      return;
    }
    this.notStarted(end.task);
    this.#failedStarts++;
    this.#blameOrNew().notStarted(end.task, this.#tasks.workerOf(end.task), now);
  }

  /** Workers that ran tasks of the job were lost at the same time. */
  workersLost(workers: number): void {
    this.#blameOrNew().workersLost(workers);
  }

  /** Whether tasks fail in a row at the worker while many more complete elsewhere. */
  isUnfit(worker: Address): boolean {
    const enough = this.#blame?.completionsToBlame(worker, this.failedCount + this.#failedStarts);
    if (enough === undefined || this.#tasks.countOf(TaskState.completed) < enough) return false;
    return this.#tasks.completedElsewhere(worker) >= enough;
  }

  /**
   * The current attempt could not be started. If the worker may be to blame, other workers are tried; if several
   * report the same, the task is to blame.
   *
   * @param workers number of workers in the cluster
   * @returns the outcome of the attempt: `lost` as long as it does not count against the task
   */
  attributeStartFault(task: TaskIndex, outcome: Outcome, worker: string, workers: number): Outcome {
    if (startFault(outcome) !== 'unclear') return outcome;
    this.#startFaults ??= new StartFaults();
    const hasCompleted = this.#tasks.countOf(TaskState.completed) > 0;
    const isTasks = this.#startFaults.isTaskToBlame(
      task,
      outcome.errorMessage,
      worker,
      workers,
      hasCompleted,
    );
    return isTasks ? { ...outcome, kind: 'failed' } : outcome;
  }

  #blameOrNew(): Blame {
    this.#crashes ??= new Crashes();
    this.#blame ??= new Blame(this.#crashes);
    return this.#blame;
  }

  /** The task's current attempt was unsuccessful. */
  #addUnsuccessful({ task, outcome, runMs }: AttemptEnd, worker: string, now: Millis): void {
    this.wastedMs += runMs;
    this.reports.addUnsuccessful({
      task,
      attempt: this.#tasks.executionsOf(task),
      state: outcome.kind,
      worker,
      startedMs: now - runMs - this.#job.acceptedAt,
      runMs,
      code: outcome.errorCode,
      message: outcome.errorMessage,
      exitCode: outcome.exitCode,
      signal: outcome.signal,
      ...(outcome.gpus === undefined ? {} : { gpus: outcome.gpus }),
    });
  }
}

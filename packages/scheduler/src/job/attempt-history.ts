import {
  type Address,
  type AttemptNumber,
  isEndedByOwner,
  type JobSpec,
  LIMITS,
  type Millis,
  type Outcome,
  SPAWNER_LOST,
  startFault,
  startFaultOf,
  type TaskIndex,
} from '@goshawk/core';
import { Blame, StartFaults } from './blame.js';
import { Crashes, programOf } from './crashes.js';
import { isExcusedLoss, LOST } from './outcomes.js';
import { isRetryable } from './retrying.js';
import { TaskReports } from './task-reports.js';
import { TaskState } from './task-state.js';
import type { TaskTable } from './task-table.js';

/** The end of a task's current attempt. */
export interface AttemptEnd {
  readonly task: TaskIndex;
  readonly outcome: Outcome;
  readonly runMs: Millis;
  /** For how long it was paused, which `runMs` excludes. Default: never. */
  readonly pausedMs?: Millis | undefined;
  /** Position of its record in the journal; undefined if it cannot be read back. */
  position: number | undefined;
  /** When it ended; undefined: when the end is reported. */
  readonly endedAt?: Millis;
  /** It was lost with the only worker that could run it. */
  readonly isOnlyWorker?: boolean;
}

interface JobFacts {
  readonly number: number;
  readonly id: string;
  readonly spec: JobSpec;
  readonly acceptedAt: Millis;
}

/** Counts the attempts of a job, and keeps the results and the causes of failures. */
export class AttemptHistory {
  /** Number of attempts that started. */
  total = 0;
  /** Number of attempts that failed, for which their worker may be to blame. */
  failedCount = 0;
  /** Number of attempts that the owner ended while they ran, such as those beyond the job's time limit. */
  endedByOwnerCount = 0;
  /** Number of attempts that were lost or preempted. */
  lostCount = 0;
  /** Total run time of unsuccessful attempts. */
  wastedMs: Millis = 0;
  /** Total run time of the completed tasks. */
  completedRunMs: Millis = 0;
  /** Longest run of a completed task. */
  longestRunMs: Millis = 0;
  /** Number of attempt numbers that were skipped; see `skipUsedNumber`. */
  skippedNumbers = 0;
  readonly #job: JobFacts;
  readonly #tasks: TaskTable;
  /** Number of attempts that workers could not start. */
  #failedStarts = 0;
  // Created on demand, because most jobs need none of these, and waiting jobs no reports.
  #reports: TaskReports | undefined;
  #startFaults: StartFaults | undefined;
  #blame: Blame | undefined;
  #crashes: Crashes | undefined;
  /** See `program`. NaN: the tasks cannot kill workers. */
  #program: number | undefined;

  constructor(job: JobFacts, tasks: TaskTable) {
    this.#job = job;
    this.#tasks = tasks;
  }

  get reports(): TaskReports {
    this.#reports ??= new TaskReports(this.#job.number, this.#job.spec.openMs !== undefined);
    return this.#reports;
  }

  /** Estimated heap size of the results that are kept in memory. */
  get keptBytes(): number {
    return this.#reports?.bytes ?? 0;
  }

  /** Estimated size of results in the journal. */
  get recordedBytes(): number {
    return this.#reports?.recordedBytes ?? 0;
  }

  /** Failures attributed to tasks and workers; undefined if there are none since the last `resetFailures`. */
  get blame(): Blame | undefined {
    return this.#blame;
  }

  /** Whether the job runs only one task at a time, because it lost workers. */
  get isOnProbation(): boolean {
    return this.#blame?.isOnProbation === true;
  }

  /** Whether the attempt that was last started alone still runs. */
  get isTrialRunning(): boolean {
    const trial = this.#blame?.trial;
    if (trial === undefined) return false;
    const { task, attempt } = trial;
    return this.#tasks.stateOf(task) === TaskState.running && this.#tasks.attemptOf(task) === attempt;
  }

  /** Whether to search for other workers now, after one was skipped. Limits the rate of searches. */
  maySearch(now: Millis): boolean {
    return this.#blame?.maySearch(now) !== false;
  }

  /** Whether the job has lost so many workers that its remaining tasks must fail. */
  get hasLostTooManyWorkers(): boolean {
    return this.#blame?.exceedsLossLimit === true;
  }

  /** Resets the failure counts when a user retries the job. */
  resetFailures(): void {
    this.#failedStarts = 0;
    this.#startFaults = undefined;
    this.#blame = undefined;
    this.#crashes?.reset();
  }

  /** Hash of the commands, which combines crashes of similar jobs; undefined if the tasks only sleep. */
  get program(): number | undefined {
    this.#program ??= programOf(this.#job.spec) ?? Number.NaN;
    return Number.isNaN(this.#program) ? undefined : this.#program;
  }

  /** Shares the count of lost workers with all jobs of the same program. */
  shareCrashes(crashes: Crashes | undefined): void {
    if (crashes === undefined || crashes === this.#crashes) return;
    if (this.#crashes !== undefined) crashes.merge(this.#crashes);
    this.#crashes = crashes;
    this.#blameOrNew().crashes = crashes;
  }

  /** Counts an attempt that has started. */
  countAttempt(task: TaskIndex): void {
    this.total++;
    this.#tasks.setExecutions(task, this.#tasks.executionsOf(task) + 1);
  }

  /** Counts an attempt that an earlier incarnation of the owner started. @param execution the number that the task sees */
  adopted(task: TaskIndex, execution: AttemptNumber): void {
    this.countAttempt(task);
    this.#skipTo(task, execution);
  }

  /**
   * Numbers the execution by its attempt if an earlier incarnation of the owner may have used the number before without
   * recording it: no two executions of a task have equal numbers.
   *
   * @param lastUsed highest attempt number of earlier incarnations
   */
  skipUsedNumber(task: TaskIndex, attempt: AttemptNumber, lastUsed: AttemptNumber): void {
    if (task >= this.#tasks.mayHaveRunBelow || attempt <= lastUsed) return;
    if (this.#tasks.executionsOf(task) <= lastUsed) this.#skipTo(task, attempt);
  }

  #skipTo(task: TaskIndex, execution: AttemptNumber): void {
    this.skippedNumbers += execution - this.#tasks.executionsOf(task);
    this.#tasks.setExecutions(task, execution);
  }

  /** Subtracts the current attempt from the counts, because it did not start. */
  notStarted(task: TaskIndex): void {
    this.total--;
    this.#tasks.setExecutions(task, this.#tasks.executionsOf(task) - 1);
  }

  /** The task was assigned to a worker. */
  started(task: TaskIndex): void {
    this.countAttempt(task);
    this.skipUsedNumber(task, this.#tasks.attemptOf(task), this.#tasks.lastUsedAttemptOf(task));
    this.#blame?.started(task, this.#tasks.attemptOf(task));
  }

  /** Ends the probation of the job if the attempt that was last started alone outlasts its isolation. */
  reviewTrial(now: Millis): void {
    const trial = this.#blame?.trial;
    if (trial !== undefined && this.isTrialRunning)
      this.#blame?.reviewTrial(now - this.#tasks.startedAtOf(trial.task));
  }

  /**
   * The current attempt failed.
   *
   * @param gang the gang of the task; failures of all its members count together
   * @returns whether the task may be retried
   */
  failed(
    end: AttemptEnd,
    worker: string,
    now: Millis,
    gang?: { readonly first: TaskIndex; readonly count: number },
  ): boolean {
    const { task, outcome, position } = end;
    if (isEndedByOwner(outcome)) {
      if (end.runMs > 0) {
        this.endedByOwnerCount++;
        this.#addUnsuccessful(end, worker, now);
      }
      this.reports.setError(task, { outcome, worker }, position);
      return false;
    }
    this.failedCount++;
    this.#addUnsuccessful(end, worker, now);
    this.reports.setError(task, { outcome, worker }, position);
    const blame = this.#blameOrNew();
    blame.failed(task, this.#tasks.workerOf(task), now);
    // The command or file is missing on all workers, so a retry would fail too.
    if (startFaultOf(outcome.errorCode) === 'unclear') return false;
    const failures = gang === undefined ? blame.failuresOf(task) : blame.failuresInRange(gang);
    return failures <= this.#job.spec.retries && isRetryable(this.#job.spec, outcome);
  }

  /** The current attempt has completed. */
  completed({ task, outcome, runMs, position }: AttemptEnd): void {
    this.completedRunMs += runMs;
    this.longestRunMs = Math.max(this.longestRunMs, runMs);
    this.reports.setValue(task, outcome.value, position);
    this.reports.setGpus(task, outcome.gpus, position);
    this.#blame?.completed(task, this.#tasks.workerOf(task));
  }

  /**
   * The current attempt was lost with its worker. This uses no retry, but a task that has lost too many workers fails.
   *
   * @param isCancelling whether the task is being cancelled; it is then not retried
   * @returns whether to retry the task
   */
  attemptLost(
    { task, outcome, runMs, isOnlyWorker }: AttemptEnd,
    worker: string,
    isCancelling: boolean,
    now: Millis,
  ): boolean {
    this.lostCount++;
    this.#addUnsuccessful({ task, outcome: LOST, runMs, position: undefined }, worker, now);
    const blame = this.#blameOrNew();
    const attempt = this.#tasks.attemptOf(task);
    const ranAlone = blame.aloneMsOf(task, attempt) !== undefined;
    blame.attemptLost(task, attempt, isOnlyWorker === true ? undefined : worker, runMs, now);
    if (isCancelling) return false;
    const losses = blame.lossesOf(task);
    if (losses < LIMITS.lossesPerTaskMax) return true;
    const cause = ranAlone
      ? '; it ran alone on the last one, so it may need more memory than the worker has'
      : '';
    const message =
      outcome.errorCode === SPAWNER_LOST
        ? `was lost ${losses} times with the process that starts commands and was abandoned; it may kill its parent process`
        : `lost its worker ${losses} times and was abandoned${cause}`;
    this.reports.setError(task, { outcome: { ...LOST, errorMessage: message }, worker });
    return false;
  }

  /** The current attempt was unsuccessful, but not because of its task. */
  excused(end: AttemptEnd, worker: string, now: Millis): void {
    this.#addUnsuccessful(end, worker, now);
    if (isExcusedLoss(end.outcome)) {
      this.lostCount++;
      return;
    }
    this.notStarted(end.task);
    this.#failedStarts++;
    this.#blameOrNew().notStarted(end.task, this.#tasks.workerOf(end.task), now);
  }

  /** One or more workers that ran tasks of the job were lost at the same time. @param workers as in `LostWorkers` */
  countLostWorkers(workers: readonly (string | undefined)[]): void {
    this.#blameOrNew().countLostWorkers(workers);
  }

  /** Whether consecutive tasks fail at the worker while many more complete elsewhere. */
  isUnfit(worker: Address): boolean {
    const required = this.#blame?.completionsToBlame(worker, this.failedCount + this.#failedStarts);
    if (required === undefined || this.#tasks.countOf(TaskState.completed) < required) return false;
    return this.#tasks.completedElsewhere(worker) >= required;
  }

  /**
   * Decides whether the worker or the task is the reason that an attempt could not start. The task is to
   * blame if several workers could not start it, or have already reported the same reason for another task.
   *
   * @param workers number of workers in the cluster
   * @returns the outcome: `failed` if the task is to blame, otherwise unchanged
   */
  attributeStartFault(task: TaskIndex, outcome: Outcome, worker: string, workers: number): Outcome {
    if (startFault(outcome) !== 'unclear') return outcome;
    this.#startFaults ??= new StartFaults();
    const hasCompleted = this.#tasks.countOf(TaskState.completed) > 0;
    const isTaskToBlame = this.#startFaults.isTaskToBlame(
      task,
      outcome.errorMessage,
      worker,
      workers,
      hasCompleted,
    );
    return isTaskToBlame ? { ...outcome, kind: 'failed' } : outcome;
  }

  #blameOrNew(): Blame {
    this.#crashes ??= new Crashes();
    this.#blame ??= new Blame(this.#crashes);
    return this.#blame;
  }

  /** Records an unsuccessful attempt. */
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

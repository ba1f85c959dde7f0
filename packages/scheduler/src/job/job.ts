import {
  type Address,
  hasGangs,
  invariant,
  isEndedByOwner,
  type JobClass,
  type JobNumber,
  type JobSpec,
  type JobState,
  type Millis,
  NOBODY,
  type ParentRun,
  type Payload,
  type Priority,
  type RetryChoice,
  type Route,
  type Segment,
  SLACK,
  spreadOf,
  sumOf,
  type TaskAttempt,
  type TaskCounts,
  type TaskIndex,
  type TaskRange,
} from '@goshawk/core';
import type { ArrivingJob, Estimate, Prediction } from '@goshawk/predictor';
import type { Assignment } from './assignment.js';
import { resized } from './attempt-columns.js';
import { type AttemptEnd, AttemptHistory } from './attempt-history.js';
import { BackoffTasks } from './backoff-tasks.js';
import type { Batch, Stage } from './batch.js';
import type { Decision } from './classify.js';
import { Dag } from './dag.js';
import type { Hold } from './hold.js';
import type { JobUsage } from './job-usage.js';
import type { EndClass } from './outcomes.js';
import type { Reopening } from './reopening.js';
import { RetryKeys } from './retry-keys.js';
import { backoffMs } from './retrying.js';
import type { Sample } from './sample.js';
import { TaskLoans } from './task-loans.js';
import { TaskState } from './task-state.js';
import { TaskTable } from './task-table.js';
import { WaitingTasks } from './waiting-tasks.js';

/** Shared by all jobs without predecessors. Nothing is ever added to it. */
const NONE = new Set<string>();
const NO_USAGE: readonly JobUsage[] = [];
const CENTRAL_ROUTE: Route = { by: 'matching', over: 'all' };

/** The state of one job at its owner. */
export class Job {
  readonly number: JobNumber;
  readonly id: string;
  /** The idempotency key, chosen by the client. */
  readonly key: string | undefined;
  readonly spec: JobSpec;
  /** The running task that submitted it last. */
  parent: ParentRun | undefined;
  /** The project of the user when the job was accepted. */
  readonly project: string | undefined;
  readonly arriving: ArrivingJob;
  /** Prediction at arrival, or at a restart of the owner. */
  prediction: Prediction;
  readonly acceptedAt: Millis;
  /** The client that submitted it to this incarnation of the owner; NOBODY: none did. */
  submitter: Address = NOBODY;
  /** Number of that client's request. */
  submission = 0;
  priority: Priority;
  /** undefined: the job was never on hold. */
  hold: Hold | undefined;
  /** Whether any stage is a gang. */
  readonly hasGangs: boolean;
  /** Whether a stage limits how many of its tasks run at workers with the same attribute. */
  readonly spreads: boolean;
  readonly tasks: TaskTable;
  readonly history: AttemptHistory;
  #dag: Dag;
  #waiting: WaitingTasks;
  #inBackoff: BackoffTasks;
  /** Ids of the unfinished jobs on which it depends. */
  readonly pendingPredecessors: Set<string>;
  /** Whether no stage may start before other jobs have ended. */
  hasPendingPredecessors: boolean;
  /** When the last of its predecessors ended, or else when it was accepted. */
  predecessorsEndedAt: Millis;
  /** Earliest possible start: when it was accepted, its predecessors had ended, it was released, or it was last retried. */
  eligibleAt: Millis;
  #decision: Decision;
  /** The pilots, which run first to determine its class. */
  #sample: Sample | undefined;
  /** 1 for each task that was cancelled individually. Created on demand. */
  #cancelledTasks: Uint8Array | undefined;
  /** When its pilots determined its class. By the owner's clock. */
  classifiedAt: Millis | undefined;
  cancelling = false;
  /** Why the scheduler cancelled it; undefined: a user cancelled it, or it was not cancelled. */
  cancelReason: string | undefined;
  /** Estimated memory of the submission. */
  specBytes = 0;
  /** Estimated memory of the job, as counted by the job store. */
  bytes = 0;
  /** Usage of its attempts since its acceptance or last retry, by day. */
  usage: readonly JobUsage[] = NO_USAGE;
  /** Estimated size of its records in the journal, as counted for its user. */
  journalBytes = 0;
  /** Whether clients may append tasks. An open job does not end before it is closed. */
  isOpen: boolean;
  /** Digest of all tasks, computed by the client that appended last. */
  digest = '';
  /** When a client last appended tasks or watched the job. */
  lastClientActivityAt: Millis = 0;
  /**
   * Whether workers may still run tasks that an earlier incarnation of the owner started. No task may be assigned before
   * the workers have answered.
   */
  isRecovering = false;
  /** If false, the job or its last retry is not durable yet, and none of its tasks may be assigned. */
  isDurable = true;
  endedAt: Millis | undefined;
  /** Number of times it has ended: a retry reopens it. */
  ends = 0;
  /** The last of these ends that was reported to the target that its submitter named. */
  notifiedEnd = 0;
  firstStartAt: Millis | undefined;
  /** Earliest start that a worker has reported with the end of an attempt. */
  #firstReportedStartAt: Millis | undefined;
  /** When it was last retried. */
  reopenedAt: Millis | undefined;
  /** When its first task started since its acceptance or last retry. */
  #runStartedAt: Millis | undefined;
  /** Created with the first loan of CPUs. */
  #loans: TaskLoans | undefined;
  /** Created at the first retry. */
  #retryKeys: RetryKeys | undefined;
  /** Whether the estimator has learned from it. */
  isLearned = false;
  /** Number of its probes that were stolen by another worker. */
  probesMoved = 0;

  constructor(fields: {
    number: JobNumber;
    id: string;
    key?: string | undefined;
    spec: JobSpec;
    project?: string | undefined;
    arriving: ArrivingJob;
    prediction: Prediction;
    decision: Decision;
    acceptedAt: Millis;
    hold?: Hold | undefined;
  }) {
    this.number = fields.number;
    this.id = fields.id;
    this.key = fields.key;
    this.spec = fields.spec;
    this.parent = fields.spec.parent;
    this.project = fields.project;
    this.arriving = fields.arriving;
    this.prediction = fields.prediction;
    this.#decision = fields.decision;
    this.acceptedAt = fields.acceptedAt;
    this.eligibleAt = fields.acceptedAt;
    this.predecessorsEndedAt = fields.acceptedAt;
    const { after = [], afterOk = [] } = fields.spec;
    this.pendingPredecessors = after.length + afterOk.length === 0 ? NONE : new Set([...after, ...afterOk]);
    this.hasPendingPredecessors = this.pendingPredecessors.size > 0;
    this.priority = fields.spec.priority ?? 'normal';
    this.hold = fields.hold;
    this.#dag = new Dag(fields.spec, fields.decision.lane, fields.acceptedAt);
    this.hasGangs = hasGangs(fields.spec);
    this.spreads = fields.spec.stages.some(({ requires }) => spreadOf(requires) !== undefined);
    this.tasks = new TaskTable(
      fields.number,
      sumOf(this.#dag.stages, ({ count }) => count),
      fields.spec.openMs !== undefined,
    );
    if (fields.spec.retryOf !== undefined) {
      this.tasks.skipAllBut(fields.spec.retryOf.tasks);
      this.#dag = this.#dag.reopened(this.tasks, fields.acceptedAt);
    }
    this.isOpen = fields.spec.openMs !== undefined;
    this.#waiting = new WaitingTasks(this.tasks, this.#dag);
    this.history = new AttemptHistory(this, this.tasks);
    this.#inBackoff = new BackoffTasks(this.tasks);
  }

  get dag(): Dag {
    return this.#dag;
  }

  get waiting(): WaitingTasks {
    return this.#waiting;
  }

  get inBackoff(): BackoffTasks {
    return this.#inBackoff;
  }

  /** undefined: no task has lent or borrowed CPUs. */
  get knownLoans(): TaskLoans | undefined {
    return this.#loans;
  }

  get loans(): TaskLoans {
    this.#loans ??= new TaskLoans();
    return this.#loans;
  }

  /** How long the running attempt of the task has run, without pauses. May be negative: clocks of journals differ. */
  elapsedMs(task: TaskIndex, now: Millis): Millis {
    const pausedMs = this.#loans?.pausedMsOf(task, this.tasks.attemptOf(task), now) ?? 0;
    return now - this.tasks.startedAtOf(task) - pausedMs;
  }

  get taskCount(): number {
    return this.tasks.count;
  }

  /** Whether the job has the task. A retry as a new job has only the tasks that it runs. */
  has(task: TaskIndex): boolean {
    return task < this.taskCount && this.tasks.stateOf(task) !== TaskState.skipped;
  }

  get stages(): readonly Stage[] {
    return this.dag.stages;
  }

  /** All batches by index: the stages, then for a sampled job the pilots and the other tasks of each stage. */
  get batches(): readonly Batch[] {
    return this.waiting.batches;
  }

  /** The class used for scheduling: short until the job is classified. */
  get class(): JobClass {
    return this.#decision.class;
  }

  /** Reason for the class, as `goshawk job` and `goshawk why` show it. */
  get classifiedBy(): string {
    return this.#decision.by;
  }

  /** Estimated mean run time of its tasks; undefined: unknown. */
  get estimateMs(): Millis | undefined {
    return this.#decision.estimateMs;
  }

  /** Estimated or guessed mean run time of its tasks; 0: unknown. */
  get expectedRunMs(): Millis {
    return this.#decision.estimateMs ?? this.#decision.guessMs ?? 0;
  }

  /** Mean run time of its completed tasks; before the first one, the estimate or guess. */
  get meanRunMs(): Millis | undefined {
    const completed = this.tasks.countOf(TaskState.completed);
    if (completed > 0) return this.history.completedRunMs / completed;
    return this.#decision.estimateMs ?? this.#decision.guessMs;
  }

  /** Estimate for the stage: the estimator's, else the submitter's. undefined: the estimate of the job applies. */
  estimateOf({ index, spec }: Pick<Stage, 'index' | 'spec'>): Millis | undefined {
    return this.#decision.stagesMs?.[index] ?? spec.estimateMs;
  }

  /** Estimates by stage, if the estimator distinguishes stages. */
  get stagesMs(): readonly Millis[] | undefined {
    return this.#decision.stagesMs;
  }

  /** Distribution of run times, if the estimator provides one. */
  get distribution(): readonly Segment[] | undefined {
    return this.#decision.distribution;
  }

  /** How its tasks find workers. Central starts gangs and tasks that spread, because it sees all workers. */
  get route(): Route {
    return this.hasGangs || this.spreads ? CENTRAL_ROUTE : this.#decision.route;
  }

  /** Whether the whole job was sent to central, which must then be notified of its end. */
  isSentToCentral = false;

  /** Whether central finds workers for it, unless central is unreachable. */
  get needsCentral(): boolean {
    const { by } = this.route;
    return by === 'central' || by === 'matching';
  }

  /** Whether its tasks may go to workers that request any task (`seek`): always, or while central is silent. */
  get maySeek(): boolean {
    const { by } = this.route;
    return (
      !this.hasGangs &&
      !this.spreads &&
      (by === 'seeking' || (by === 'matching' && this.#decision.class === 'short'))
    );
  }

  get sample(): Sample | undefined {
    return this.#sample;
  }

  /** Whether its pilots have not determined its class yet. */
  get isUndecided(): boolean {
    return this.#sample?.isDecided === false;
  }

  /** Runs the pilots first. */
  startSample(sample: Sample): void {
    this.#sample = sample;
    this.waiting.startSample(sample);
  }

  /** Sets the class that the pilots or the guess determined. */
  classify(decision: Decision, now: Millis): void {
    const sample = this.#sample;
    invariant(sample?.isDecided === false, () => `${this.id} was classified twice`);
    this.waiting.endSample(sample);
    sample.isDecided = true;
    this.classifiedAt = now;
    this.#decision = decision;
  }

  /** Restores the classification of an earlier incarnation of the owner. */
  restoreDecision(decision: Partial<Decision>): void {
    this.#decision = { ...this.#decision, ...decision };
  }

  /** Sets the final estimate of a job that was classified as long before all pilots ended. */
  refineEstimate({ meanMs: estimateMs, stagesMs }: Estimate): void {
    this.#sample!.isEstimatePending = false;
    this.#decision = { ...this.#decision, estimateMs, stagesMs: stagesMs ?? this.stagesMs };
  }

  get runningCount(): number {
    return this.tasks.countOf(TaskState.running);
  }

  get hasEnded(): boolean {
    return this.endedAt !== undefined;
  }

  get unfinishedCount(): number {
    return this.tasks.unfinishedCount;
  }

  /** Whether any task of the job may be assigned now. */
  get mayAssign(): boolean {
    return this.isDurable && !this.hasEnded && !this.cancelling && this.assignableCount > 0;
  }

  /** Number of tasks that may be assigned now. Infinity: unlimited. */
  get assignableCount(): number {
    if (this.isHeld) return 0;
    const limit = this.spec.maxRunning;
    const { isOnProbation } = this.history;
    if (limit === undefined && !isOnProbation) return Number.POSITIVE_INFINITY;
    if (isOnProbation && this.history.isTrialRunning) return 0;
    const atWorkers = this.runningCount + this.tasks.countOf(TaskState.placed);
    const room = Math.max(0, (limit ?? Number.POSITIVE_INFINITY) - atWorkers);
    return isOnProbation ? Math.min(1, room) : room;
  }

  /** Whether the number of running tasks is limited, by the submitter or because the job is on probation. */
  get isConcurrencyLimited(): boolean {
    return this.spec.maxRunning !== undefined || this.history.isOnProbation;
  }

  /** The deadline by the owner's clock; Infinity: none. */
  get deadlineAt(): Millis {
    return (this.reopenedAt ?? this.acceptedAt) + (this.spec.deadlineMs ?? Number.POSITIVE_INFINITY);
  }

  /** End of the time limit by the owner's clock; Infinity: no limit, or not started. */
  get timeLimitAt(): Millis {
    return (
      (this.#runStartedAt ?? Number.POSITIVE_INFINITY) + (this.spec.timeLimitMs ?? Number.POSITIVE_INFINITY)
    );
  }

  /** Whether no worker has a task of the job, and no task has ended. */
  get isUntouched(): boolean {
    const { tasks } = this;
    return tasks.countOf(TaskState.blocked) + tasks.countOf(TaskState.waiting) === tasks.includedCount;
  }

  get state(): JobState {
    if (this.endedAt === undefined) return this.firstStartAt === undefined ? 'waiting' : 'running';
    if (this.isOpen) return 'cancelled';
    if (this.tasks.countOf(TaskState.failed) > 0) return this.cancelling ? 'cancelled' : 'failed';
    return this.tasks.countOf(TaskState.cancelled) > 0 ? 'cancelled' : 'completed';
  }

  get counts(): TaskCounts {
    const { tasks } = this;
    return {
      total: tasks.includedCount,
      waiting: tasks.notStartedCount,
      running: tasks.countOf(TaskState.running),
      completed: tasks.countOf(TaskState.completed),
      failed: tasks.countOf(TaskState.failed),
      cancelled: tasks.countOf(TaskState.cancelled),
    };
  }

  /**
   * When the current attempt of the task ended, if its end is reported now. If the task ended while its scheduler was
   * away, its worker has reported how long ago it started.
   */
  endTimeOf(task: TaskIndex, runMs: Millis, now: Millis): Millis {
    const { tasks } = this;
    const isResumed =
      tasks.hasEarlierOwner && tasks.stateOf(task) === TaskState.running && tasks.isResumed(task);
    return isResumed ? Math.min(now, tasks.startedAtOf(task) + runMs) : now;
  }

  /** Members of the gang that count as running. */
  runningMembers({ first, count }: Stage): TaskIndex[] {
    const out: TaskIndex[] = [];
    for (let task = first; task < first + count; task++)
      if (this.tasks.stateOf(task) === TaskState.running) out.push(task);
    return out;
  }

  /** The first member of the gang that has failed or was cancelled, or −1. */
  failedMember({ first, count }: Stage): TaskIndex {
    for (let task = first; task < first + count; task++) {
      const state = this.tasks.stateOf(task);
      if (state === TaskState.failed || state === TaskState.cancelled) return task;
    }
    return -1;
  }

  /** The gang stage of the task; undefined: the task starts individually. */
  gangStageOf(task: TaskIndex): Stage | undefined {
    if (!this.hasGangs) return undefined;
    const stage = this.dag.stageOf(task);
    return stage.gang === undefined ? undefined : stage;
  }

  /** Whether all remaining members of a gang may be assigned together. */
  canStartGang(stage: Stage): boolean {
    const { maxRunning = Number.POSITIVE_INFINITY } = this.spec;
    const isWhole = stage.waiting === stage.unfinished;
    return !this.isHeld && isWhole && stage.waiting <= maxRunning - this.runningCount;
  }

  /** Changes the state of one task, and updates all counts. */
  setState(task: TaskIndex, state: TaskState): void {
    this.waiting.setState(task, state);
    if (state < TaskState.completed || this.spec.openMs === undefined) return;
    const [stage] = this.stages;
    if (state === TaskState.completed) stage!.dropInput(task);
    const { reports } = this.history;
    const settled = this.tasks.archivePage(task, (of) => reports.isRecorded(of));
    if (settled > 0) reports.archived(task, stage!.archived(settled));
  }

  /** Appends tasks to its only stage. They stay blocked until they are durable. */
  append(payloads: readonly Payload[]): void {
    this.tasks.grow(payloads.length);
    this.stages[0]!.append(payloads);
  }

  /** Records that the first `count` tasks are durable, and releases the new ones. @returns how many are new */
  markDurable(count: number): number {
    const stage = this.stages[0]!;
    const { durableCount } = stage;
    if (count <= durableCount) return 0;
    stage.durableCount = count;
    if (!this.hasPendingPredecessors && !this.cancelling) this.waiting.release(stage, durableCount);
    return count - durableCount;
  }

  /**
   * Reopens an ended job to run some of its tasks again. Failure counts, time limit and deadline start anew. No stage is
   * released yet.
   *
   * @param key key of the retry request
   * @param choice the tasks that it selects
   */
  reopen({ marks }: Reopening, key: string, choice: RetryChoice, now: Millis): void {
    invariant(this.hasEnded, () => `${this.id} was retried before it had ended`);
    this.isLearned = this.tasks.countOf(TaskState.completed) > 0;
    this.tasks.reopen(marks);
    // Central may have placed the next attempts just before the job ended, and workers will return them.
    if (this.route.by === 'central')
      for (let task = 0; task < this.taskCount; task++) if (marks[task] !== 0) this.tasks.nextAttempt(task);
    this.history.reports.dropFailures(marks);
    this.history.resetFailures();
    this.#dag = this.#dag.reopened(this.tasks, now);
    this.#waiting = new WaitingTasks(this.tasks, this.#dag);
    this.#inBackoff = new BackoffTasks(this.tasks);
    this.#sample = undefined;
    this.isRecovering = false;
    this.isOpen = false;
    this.cancelling = false;
    this.cancelReason = undefined;
    this.#cancelledTasks = undefined;
    this.hold = undefined;
    this.endedAt = undefined;
    // The job may have been cancelled between the end of its predecessors and `predecessorsEnded`.
    this.hasPendingPredecessors = this.pendingPredecessors.size > 0;
    this.reopenedAt = now;
    this.eligibleAt = now;
    this.#runStartedAt = undefined;
    this.#retryKeys ??= new RetryKeys();
    this.#retryKeys.add(key, choice);
  }

  /** Whether a recent retry of the job had this key: the same request, or one that selected other tasks. */
  retryWithKey(key: string, choice: RetryChoice): 'same' | 'other' | undefined {
    return this.#retryKeys?.find(key, choice);
  }

  /** All predecessors have ended. */
  predecessorsEnded(now: Millis): void {
    this.hasPendingPredecessors = false;
    this.predecessorsEndedAt = now;
    this.eligibleAt = now;
  }

  /** Whether the task or the job was cancelled, so that the task must not be retried. */
  isCancelling(task: TaskIndex): boolean {
    return this.cancelling || this.#cancelledTasks?.[task] === 1;
  }

  /** Whether the current attempt of the task must be killed: the task was cancelled, or its gang failed. */
  mustEnd(task: TaskIndex): boolean {
    return this.isCancelling(task) || this.gangStageOf(task)?.gang?.breakOutcome !== undefined;
  }

  /** Whether some of its tasks were cancelled individually. */
  get hasCancelledTasks(): boolean {
    return this.#cancelledTasks !== undefined;
  }

  /** Marks unfinished tasks as cancelled. @returns whether any of them was not cancelled before */
  cancelTasks(ranges: readonly TaskRange[]): boolean {
    let isNew = false;
    for (const { first, last } of ranges) {
      for (let task = first; task <= Math.min(last, this.taskCount - 1); task++) {
        if (this.tasks.isFinal(task) || this.isCancelling(task)) continue;
        this.#markCancelled(task);
        isNew = true;
      }
    }
    return isNew;
  }

  #markCancelled(task: TaskIndex): void {
    // Grows with the job, because clients may append tasks.
    if ((this.#cancelledTasks?.length ?? 0) < this.taskCount)
      this.#cancelledTasks = resized(this.#cancelledTasks ?? new Uint8Array(0), this.taskCount);
    this.#cancelledTasks![task] = 1;
  }

  /** Whether the job is on hold, at the user's request or until its begin time. */
  get isHeld(): boolean {
    return this.hold?.isOn === true;
  }

  /** Whether the job starts tasks only after a request of a user: it is on hold, or open without unfinished tasks. */
  get isIdle(): boolean {
    if (this.isHeld) return this.runningCount === 0;
    return this.isOpen && this.unfinishedCount === 0;
  }

  /** The hold has ended. If no task has started, waiting times are counted from now on. */
  released(now: Millis): void {
    if (this.hasPendingPredecessors || this.firstStartAt !== undefined) return;
    this.eligibleAt = now;
    for (const stage of this.stages) if (stage.blockers === 0) stage.releasedAt = now;
  }

  /** Cancels all unfinished tasks that no worker has. */
  cancelWaiting(): void {
    for (const stage of this.stages) this.waiting.cancel(stage);
  }

  /** Factor for its priority, which multiplies the work by which jobs are ordered. */
  get slackFactor(): number {
    return SLACK[this.priority];
  }

  /** Makes all tasks of the stage eligible. */
  release(stage: Stage, now: Millis): void {
    stage.releasedAt = now;
    this.waiting.release(stage);
  }

  /** Duration of the back-off of a task after a failed or lost attempt. 0: none */
  backoffMsOf(task: TaskIndex, how: EndClass): Millis {
    if (how === 'lost') return this.history.blame?.lossBackoffMsOf(task) ?? 0;
    if (how !== 'failed') return 0;
    return backoffMs(this.spec, this.id, task, this.history.blame?.failuresOf(task) ?? 1);
  }

  /** An attempt of the task has run, and the task waits again. */
  waitsAgain(task: TaskIndex, now: Millis): void {
    const batch = this.waiting.batchOf(task);
    if (batch.waiting === 0 && !this.inBackoff.isAny) batch.requeuedAt = now;
  }

  /** Puts a task in back-off until this time. */
  backOff(task: TaskIndex, until: Millis): void {
    this.setState(task, TaskState.blocked);
    this.tasks.setWorker(task, NOBODY);
    this.inBackoff.add(task, until);
  }

  /** Handles the end of all tasks of a stage. See `Dag.ended`. */
  stageEnded(stage: Stage): Stage[] {
    stage.inputs = undefined;
    return this.dag.ended(stage, this.tasks, this.cancelling, (other) => this.waiting.cancel(other));
  }

  /** Makes the task wait again after an attempt. */
  requeue(task: TaskIndex): void {
    this.waiting.requeue(task);
    this.tasks.setWorker(task, NOBODY);
  }

  /** Assigns the task to a worker. The caller has advanced the attempt number. */
  bound(task: TaskIndex, worker: Address, assignment: Assignment, now: Millis): void {
    this.tasks.assign(task, worker, assignment, now);
    this.startedAt(now);
    this.setState(task, TaskState.running);
    this.history.started(task);
  }

  /** Records that the worker has the task in its queue, as central or the worker itself has reported. */
  queuedAt({ task, attempt }: TaskAttempt, worker: Address, now: Millis): void {
    // The attempt is known, or outdated.
    if (this.tasks.attemptOf(task) >= attempt) return;
    this.waiting.batchOf(task).needAnswered(now);
    const isNext =
      this.tasks.stateOf(task) === TaskState.waiting && this.tasks.nextAttemptOf(task) === attempt;
    if (!isNext || !this.mayAssign) return;
    this.tasks.nextAttempt(task);
    this.tasks.setWorker(task, worker);
    this.setState(task, TaskState.placed);
  }

  /** Records a start, possibly earlier than the known ones. */
  startedAt(at: Millis): void {
    this.firstStartAt = Math.min(this.firstStartAt ?? at, at);
    this.#runStartedAt = Math.min(this.#runStartedAt ?? at, at);
  }

  /** An attempt has ended that started at this time, according to its worker. */
  ran(startedAt: Millis): void {
    this.#firstReportedStartAt = Math.min(this.#firstReportedStartAt ?? startedAt, startedAt);
  }

  /** The job has ended. The time at which its first task started replaces the time at which it was assigned. */
  end(at: Millis): void {
    this.endedAt = at;
    this.ends++;
    this.firstStartAt = this.#firstReportedStartAt ?? this.firstStartAt;
  }

  /** Uncounts the current attempt, which was assigned but did not start. */
  notStarted(task: TaskIndex): void {
    this.history.notStarted(task);
    this.#clearStart();
  }

  /** Clears the start times of the job if no counted attempt is left. */
  #clearStart(): void {
    if (this.history.total > 0) return;
    this.firstStartAt = undefined;
    this.#runStartedAt = undefined;
  }

  /**
   * Records the end of a task's current attempt.
   *
   * @param worker name of the worker; not used for completed tasks
   * @returns the next state of the task; `waiting`: it is retried
   */
  attemptEnded(end: AttemptEnd, how: EndClass, worker: string, now: Millis): TaskState {
    const { history } = this;
    this.tasks.setMaxRss(end.task, end.outcome.maxRssBytes);
    const cancelling = this.isCancelling(end.task);
    const { waiting, completed, failed, cancelled } = TaskState;
    switch (how) {
      case 'completed':
        history.completed(end);
        return completed;
      case 'killed':
        return cancelled;
      case 'excused':
        history.excused(end, worker, now);
        this.#clearStart();
        return cancelling ? cancelled : waiting;
      case 'lost': {
        const mayRetry = history.lost(end, worker, cancelling, now);
        return cancelling ? cancelled : mayRetry ? waiting : failed;
      }
      case 'failed':
        if (!isEndedByOwner(end.outcome)) this.#sample?.attemptFailed(end.task, end.runMs);
        return history.failed(end, worker, now, this.gangStageOf(end.task)) && !cancelling ? waiting : failed;
    }
  }
}

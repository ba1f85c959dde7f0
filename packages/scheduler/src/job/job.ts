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
  SLACK,
  spreadOf,
  sumOf,
  type TaskAttempt,
  type TaskCounts,
  type TaskIndex,
  type TaskRange,
} from '@goshawk/core';
import type { ArrivingJob, Prediction } from '@goshawk/predictor';
import type { Assignment } from './assignment.js';
import { resized } from './attempt-columns.js';
import { type AttemptEnd, AttemptHistory } from './attempt-history.js';
import { BackoffTasks } from './backoff-tasks.js';
import type { Batch, Stage } from './batch.js';
import type { Decision } from './classify.js';
import { Dag } from './dag.js';
import type { Hold } from './hold.js';
import { JobEstimate } from './job-estimate.js';
import {
  clientOf,
  type JobBytes,
  type JobClient,
  type JobPhase,
  JobTimes,
  type PredecessorWait,
  predecessorsOf,
} from './job-parts.js';
import type { JobUsage } from './job-usage.js';
import type { EndClass } from './outcomes.js';
import type { Reopening } from './reopening.js';
import { RetryKeys } from './reopening.js';
import { backoffMs } from './retrying.js';
import type { Sample } from './sample.js';
import { TaskLoans } from './task-loans.js';
import { TaskState } from './task-state.js';
import { TaskTable } from './task-table.js';
import { WaitingTasks } from './waiting-tasks.js';

const NO_USAGE: readonly JobUsage[] = [];
const CENTRAL_ROUTE: Route = { by: 'matching', over: 'all' };

/** The tasks of a job from its acceptance, or its last retry, to its end. */
interface JobRun {
  readonly dag: Dag;
  readonly waiting: WaitingTasks;
  /** Created on demand. */
  inBackoff: BackoffTasks | undefined;
  /** 1 for each task that was cancelled individually. Created on demand. */
  cancelledTasks: Uint8Array | undefined;
}

function runOf(tasks: TaskTable, dag: Dag): JobRun {
  return {
    dag,
    waiting: new WaitingTasks(tasks, dag),
    inBackoff: undefined,
    cancelledTasks: undefined,
  };
}

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
  readonly acceptedAt: Millis;
  /** Whether any stage is a gang. */
  readonly hasGangs: boolean;
  /** Whether a stage limits how many of its tasks run at workers with the same attribute. */
  readonly spreads: boolean;

  // Users may change these.
  priority: Priority;
  /** undefined: the job was never on hold. */
  hold: Hold | undefined;

  // Where it is in its life.
  #phase: JobPhase = 'active';
  /** undefined: it was not cancelled. An absent reason: a user cancelled it, not the scheduler. */
  cancellation: { readonly reason?: string | undefined } | undefined;
  /** How often it has ended, as a retry reopens it, and the last end that was reported to the target of its submitter. */
  readonly ends = { count: 0, notified: 0 };
  readonly times: JobTimes;
  readonly predecessors: PredecessorWait;

  // What it is, takes and needs, by those who ask.
  readonly client: JobClient;
  readonly estimate: JobEstimate;
  readonly bytes: JobBytes = { spec: 0, total: 0, journal: 0 };
  /** Whether the whole job was sent to central, which must then be notified of its end. */
  isSentToCentral = false;

  // What its tasks do.
  readonly tasks: TaskTable;
  readonly history: AttemptHistory;
  /** Renewed by each retry. */
  #run: JobRun;
  /** Created with the first loan of CPUs. */
  #loans: TaskLoans | undefined;
  /** Usage of its attempts since its acceptance or last retry, by day. */
  usage: readonly JobUsage[] = NO_USAGE;
  /** Number of its probes that were stolen by another worker. */
  probesMoved = 0;
  /** Created at the first retry. */
  #retryKeys: RetryKeys | undefined;

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
    this.acceptedAt = fields.acceptedAt;
    this.estimate = new JobEstimate(fields.prediction, fields.decision);
    this.times = new JobTimes(fields.acceptedAt);
    this.predecessors = predecessorsOf(fields.spec, fields.acceptedAt);
    this.client = clientOf(fields.spec);
    this.priority = fields.spec.priority ?? 'normal';
    this.hold = fields.hold;
    this.hasGangs = hasGangs(fields.spec);
    this.spreads = fields.spec.stages.some(({ requires }) => spreadOf(requires) !== undefined);
    const dag = new Dag(fields.spec, fields.decision.lane, fields.acceptedAt);
    this.tasks = new TaskTable(
      fields.number,
      sumOf(dag.stages, ({ count }) => count),
      fields.spec.openMs !== undefined,
    );
    const { retryOf } = fields.spec;
    if (retryOf !== undefined) this.tasks.skipAllBut(retryOf.tasks);
    this.#run = runOf(this.tasks, retryOf === undefined ? dag : dag.reopened(this.tasks, fields.acceptedAt));
    this.history = new AttemptHistory(this, this.tasks);
  }

  get dag(): Dag {
    return this.#run.dag;
  }

  get waiting(): WaitingTasks {
    return this.#run.waiting;
  }

  get inBackoff(): BackoffTasks {
    return this.#run.inBackoff ?? BackoffTasks.NONE;
  }

  /** undefined: no task has lent or borrowed CPUs. */
  get existingLoans(): TaskLoans | undefined {
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
    return this.estimate.decision.class;
  }

  /** Estimated or guessed mean run time of its tasks; 0: unknown. */
  get expectedRunMs(): Millis {
    return this.estimate.guessMs ?? 0;
  }

  /** Mean run time of its completed tasks; before the first one, the estimate or guess. */
  get meanRunMs(): Millis | undefined {
    const completed = this.tasks.countOf(TaskState.completed);
    if (completed > 0) return this.history.completedRunMs / completed;
    return this.estimate.guessMs;
  }

  /** How its tasks find workers. Central starts gangs and tasks that spread, because it sees all workers. */
  get route(): Route {
    return this.hasGangs || this.spreads ? CENTRAL_ROUTE : this.estimate.decision.route;
  }

  /** Whether central finds workers for it, unless central is unreachable. */
  get needsCentral(): boolean {
    const { by } = this.route;
    return by === 'central' || by === 'matching';
  }

  /**
   * Returns the batch that looks for workers for the tasks of this one. Where central does not, tasks other than pilots use a
   * separate batch until the class of the job is known.
   */
  searchingBatch(of: Batch): Batch {
    const { isUndecided, sample } = this.estimate;
    return isUndecided && !this.needsCentral ? sample!.nonPilotsOf(of) : of.countingBatch;
  }

  /** Whether its tasks may go to workers that request any task (`seek`): always, or while central is silent. */
  get maySeek(): boolean {
    const { by } = this.route;
    return (
      !this.hasGangs && !this.spreads && (by === 'seeking' || (by === 'matching' && this.class === 'short'))
    );
  }

  /** Runs the pilots first. */
  startSample(sample: Sample): void {
    this.estimate.sample = sample;
    this.waiting.startSample(sample);
  }

  /**
   * Sets the class that the pilots or the guess determined.
   *
   * @param isProvisional whether the estimate follows, once all pilots have ended
   */
  classify(decision: Decision, isProvisional: boolean, now: Millis): void {
    const { sample } = this.estimate;
    invariant(sample?.state === 'running', () => `${this.id} was classified twice`);
    this.waiting.endSample(sample);
    sample.state = isProvisional ? 'refining' : 'decided';
    this.times.classifiedAt = now;
    this.estimate.decide(decision);
  }

  get runningCount(): number {
    return this.tasks.countOf(TaskState.running);
  }

  get hasEnded(): boolean {
    return this.#phase === 'ended';
  }

  /** Whether the job or its last retry is durable. If not, none of its tasks may be assigned. */
  get isDurable(): boolean {
    return this.#phase !== 'recording';
  }

  /** Whether workers may still run tasks that an earlier incarnation of the owner started. */
  get isRecovering(): boolean {
    return this.#phase === 'recovering';
  }

  /** The job or its retry is not durable yet. */
  recording(): void {
    this.#phase = 'recording';
  }

  /** Its owner has restarted, and asks workers which of its tasks they run. */
  recovering(): void {
    if (this.#phase === 'active') this.#phase = 'recovering';
  }

  /** The job is durable, or its workers have answered. */
  activated(): void {
    if (this.#phase !== 'ended') this.#phase = 'active';
  }

  /** Whether it was cancelled, and ends or has ended for that reason. */
  get cancelling(): boolean {
    return this.cancellation !== undefined;
  }

  /** Whether clients may append tasks. An open job does not end before it is closed. */
  get isOpen(): boolean {
    return this.client.isOpen;
  }

  /** Whether no stage may start before other jobs have ended. */
  get hasPendingPredecessors(): boolean {
    return this.predecessors.endedAt === undefined;
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
    return (this.times.reopenedAt ?? this.acceptedAt) + (this.spec.deadlineMs ?? Number.POSITIVE_INFINITY);
  }

  /** End of the time limit by the owner's clock; Infinity: no limit, or not started. */
  get timeLimitAt(): Millis {
    return this.times.runStartedAt + (this.spec.timeLimitMs ?? Number.POSITIVE_INFINITY);
  }

  /** Whether no worker has a task of the job, and no task has ended. */
  get isUntouched(): boolean {
    const { tasks } = this;
    return tasks.countOf(TaskState.blocked) + tasks.countOf(TaskState.waiting) === tasks.includedCount;
  }

  get state(): JobState {
    if (!this.hasEnded) return this.times.firstStartAt === undefined ? 'waiting' : 'running';
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

  /** When it ended, which may be before the record of that; undefined: it has not. */
  get doneAt(): Millis | undefined {
    // Cancelled tasks have no attempt that ends with them.
    const { endedAt, doneAt } = this.times;
    const at = this.cancelling || this.hasCancelledTasks ? endedAt : doneAt;
    // A worker may report an end before the acceptance, because its clock was set forward while it kept the result.
    return at === undefined ? undefined : Math.max(this.acceptedAt, at);
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
    this.estimate.isLearned = this.tasks.countOf(TaskState.completed) > 0;
    this.tasks.reopen(marks);
    // Central may have placed the next attempts just before the job ended, and workers will return them.
    if (this.route.by === 'central')
      for (let task = 0; task < this.taskCount; task++) if (marks[task] !== 0) this.tasks.nextAttempt(task);
    this.history.reports.dropFailures(marks);
    this.history.resetFailures();
    this.#run = runOf(this.tasks, this.dag.reopened(this.tasks, now));
    this.estimate.sample = undefined;
    this.#phase = 'active';
    this.cancellation = undefined;
    this.client.isOpen = false;
    this.hold = undefined;
    // The job may have been cancelled between the end of its predecessors and `predecessorsEnded`.
    if (this.predecessors.pending.size === 0) this.predecessors.endedAt ??= this.acceptedAt;
    this.times.reopened(now);
    this.#retryKeys ??= new RetryKeys();
    this.#retryKeys.add(key, choice);
  }

  /** Whether a recent retry of the job had this key: the same request, or one that selected other tasks. */
  retryWithKey(key: string, choice: RetryChoice): 'same' | 'other' | undefined {
    return this.#retryKeys?.find(key, choice);
  }

  /** All predecessors have ended. */
  predecessorsEnded(now: Millis): void {
    this.predecessors.endedAt = now;
    this.times.eligibleAt = now;
  }

  /** Whether the task or the job was cancelled, so that the task must not be retried. */
  isCancelling(task: TaskIndex): boolean {
    return this.cancelling || this.#run.cancelledTasks?.[task] === 1;
  }

  /** Whether the current attempt of the task must be killed: the task was cancelled, or its gang failed. */
  mustEnd(task: TaskIndex): boolean {
    return this.isCancelling(task) || this.gangStageOf(task)?.gang?.breakOutcome !== undefined;
  }

  /** Whether some of its tasks were cancelled individually. */
  get hasCancelledTasks(): boolean {
    return this.#run.cancelledTasks !== undefined;
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
    const run = this.#run;
    if ((run.cancelledTasks?.length ?? 0) < this.taskCount)
      run.cancelledTasks = resized(run.cancelledTasks ?? new Uint8Array(0), this.taskCount);
    run.cancelledTasks![task] = 1;
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
    if (this.hasPendingPredecessors || this.times.firstStartAt !== undefined) return;
    this.times.eligibleAt = now;
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
    this.#run.inBackoff ??= new BackoffTasks(this.tasks);
    this.#run.inBackoff.add(task, until);
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
    this.times.started(now);
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

  /** The job has ended. */
  end(at: Millis): void {
    this.#phase = 'ended';
    this.ends.count++;
    this.times.ended(at);
  }

  /** Uncounts the current attempt, which was assigned but did not start. */
  notStarted(task: TaskIndex): void {
    this.history.notStarted(task);
    this.#clearStart();
  }

  /** Clears the start times of the job if no counted attempt is left. */
  #clearStart(): void {
    if (this.history.total === 0) this.times.clearStart();
  }

  /**
   * Records the end of a task's current attempt.
   *
   * @param worker name of the worker; not used for completed tasks
   * @returns the next state of the task; `waiting`: it is retried
   */
  attemptEnded(end: AttemptEnd, how: EndClass, worker: string, now: Millis): TaskState {
    const { history } = this;
    this.times.progressed(now);
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
        const mayRetry = history.attemptLost(end, worker, cancelling, now);
        return cancelling ? cancelled : mayRetry ? waiting : failed;
      }
      case 'failed':
        if (!isEndedByOwner(end.outcome)) this.estimate.sample?.attemptFailed(end.task, end.runMs);
        return history.failed(end, worker, now, this.gangStageOf(end.task)) && !cancelling ? waiting : failed;
    }
  }
}

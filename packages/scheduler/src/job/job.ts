import {
  type Address,
  hasGangs,
  invariant,
  isOwnersEnd,
  type JobClass,
  type JobNumber,
  type JobSpec,
  type JobState,
  type Millis,
  NOBODY,
  type Payload,
  type Priority,
  type Route,
  type Segment,
  SLACK,
  sumOf,
  type TaskCounts,
  type TaskIndex,
  type TaskRange,
} from '@goshawk/core';
import type { ArrivingJob, Estimate, Prediction } from '@goshawk/predictor';
import { type AttemptEnd, AttemptHistory } from './attempt-history.js';
import { BackoffTasks } from './backoff-tasks.js';
import type { Batch, Stage } from './batch.js';
import type { Decision } from './classify.js';
import { Dag } from './dag.js';
import type { Hold } from './hold.js';
import type { JobUsage } from './job-usage.js';
import type { EndClass } from './outcomes.js';
import type { Reopening } from './reopening.js';
import { backoffMs } from './retrying.js';
import type { Sample } from './sample.js';
import { type Assignment, TASK_STATE_NAMES, TaskState, TaskTable } from './task-table.js';
import { WaitingTasks } from './waiting-tasks.js';

export { TASK_STATE_NAMES, TaskState };

/** A client has only one retry outstanding, so this many keys suffice. */
const RETRY_KEYS_MAX = 16;
const GANG_ROUTE: Route = { by: 'matching', over: 'all' };

/** Everything an owner knows about one job. */
export class Job {
  readonly number: JobNumber;
  readonly id: string;
  /** Chosen by the client. */
  readonly key: string | undefined;
  readonly spec: JobSpec;
  /** The user's project when it was accepted. */
  readonly project: string | undefined;
  readonly arriving: ArrivingJob;
  /** Prediction at arrival, or at a restart of the owner. */
  prediction: Prediction;
  readonly acceptedAt: Millis;
  priority: Priority;
  /** undefined: it was never on hold. */
  hold: Hold | undefined;
  /** Whether any stage is a gang. */
  readonly hasGangs: boolean;
  readonly tasks: TaskTable;
  readonly history: AttemptHistory;
  #dag: Dag;
  #waiting: WaitingTasks;
  #inBackoff: BackoffTasks;
  /** Ids of the unfinished jobs that it depends on. */
  readonly pendingPredecessors: Set<string>;
  /** Whether other jobs must end before any stage may start. */
  hasPendingPredecessors: boolean;
  /** When its predecessors had ended. */
  predecessorsEndedAt: Millis;
  /** Earliest possible start: its predecessors had ended and it was not on hold. */
  eligibleAt: Millis;
  #decision: Decision;
  /** The tasks that run first to determine its class. */
  #sample: Sample | undefined;
  /** 1 for tasks cancelled individually; created on demand. */
  #cancelledTasks: Uint8Array | undefined;
  /** When its pilots determined its class. */
  classifiedAt: Millis | undefined;
  cancelling = false;
  /** Why the owner cancelled it; undefined: a user did, or it was not cancelled. */
  cancelReason: string | undefined;
  /** Memory of the submission and of its recorded attempts, as counted by the store. */
  specBytes = 0;
  bytes = 0;
  /** Usage of its attempts since acceptance or the last retry, by day. */
  usage: readonly JobUsage[] = [];
  /** Its estimated bytes in the journal, as counted for its user. */
  journalBytes = 0;
  /** Whether clients may append tasks; the job then does not end before it is closed. */
  isOpen: boolean;
  /** Digest of all tasks by the last appending client. */
  digest = '';
  /** When a client last appended to it or watched it. */
  lastClientActivityAt: Millis = 0;
  /**
   * Workers may run tasks of it that an earlier incarnation of the owner started, so none may be assigned before they
   * have answered.
   */
  isRecovering = false;
  /** If false, the job is not durable, and none of its tasks may be assigned. */
  isDurable = true;
  endedAt: Millis | undefined;
  firstStartAt: Millis | undefined;
  /** When it was last retried. */
  reopenedAt: Millis | undefined;
  /** When its first task started since acceptance or the last retry. */
  #runStartedAt: Millis | undefined;
  /** Keys of the latest retries, so that a repeated request has no effect. */
  readonly retryKeys: string[] = [];
  /** Whether the estimator has learned from it. */
  isLearned = false;
  /** Number of its probes that moved to another worker. */
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
    this.project = fields.project;
    this.arriving = fields.arriving;
    this.prediction = fields.prediction;
    this.#decision = fields.decision;
    this.acceptedAt = fields.acceptedAt;
    this.eligibleAt = fields.acceptedAt;
    this.predecessorsEndedAt = fields.acceptedAt;
    this.pendingPredecessors = new Set([...(fields.spec.after ?? []), ...(fields.spec.afterOk ?? [])]);
    this.hasPendingPredecessors = this.pendingPredecessors.size > 0;
    this.priority = fields.spec.priority ?? 'normal';
    this.hold = fields.hold;
    this.#dag = new Dag(fields.spec, fields.decision.lane, fields.acceptedAt);
    this.hasGangs = hasGangs(fields.spec);
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
    this.history = new AttemptHistory(fields, this.tasks);
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

  get taskCount(): number {
    return this.tasks.count;
  }

  /** Whether the job has the task: a retry as a new job lacks the tasks that it does not run. */
  has(task: TaskIndex): boolean {
    return task < this.taskCount && this.tasks.stateOf(task) !== TaskState.skipped;
  }

  get stages(): readonly Stage[] {
    return this.dag.stages;
  }

  /** The stages, then the pilots and the rest of each stage if the job is sampled; each at its index. */
  get batches(): readonly Batch[] {
    return this.waiting.batches;
  }

  /** The class used for scheduling: short until the job is classified. */
  get class(): JobClass {
    return this.#decision.class;
  }

  /** Basis of the class, for `job` and `why`. */
  get classifiedBy(): string {
    return this.#decision.by;
  }

  /** Estimated mean run time of its tasks; undefined: unknown. */
  get estimateMs(): Millis | undefined {
    return this.#decision.estimateMs;
  }

  /** Estimate or, without one, guess of the mean run time; 0: nothing is known. */
  get expectedRunMs(): Millis {
    return this.#decision.estimateMs ?? this.#decision.guessMs ?? 0;
  }

  /** Mean of the tasks that ran; before that, the estimate or guess. */
  get meanRunMs(): Millis | undefined {
    const completed = this.tasks.countOf(TaskState.completed);
    if (completed > 0) return this.history.completedRunMs / completed;
    return this.#decision.estimateMs ?? this.#decision.guessMs;
  }

  /** Estimate for the stage: the estimator's, else the submitter's; undefined: that of the job. */
  estimateOf({ index, spec }: Pick<Stage, 'index' | 'spec'>): Millis | undefined {
    return this.#decision.stagesMs?.[index] ?? spec.estimateMs;
  }

  /** Estimate for each stage, if the estimator distinguishes stages. */
  get stagesMs(): readonly Millis[] | undefined {
    return this.#decision.stagesMs;
  }

  /** Distribution of run times, if the estimator knows it. */
  get distribution(): readonly Segment[] | undefined {
    return this.#decision.distribution;
  }

  /** Gangs are always started by central, which sees all workers at once. */
  get route(): Route {
    return this.hasGangs ? GANG_ROUTE : this.#decision.route;
  }

  /** Whether central was sent the whole job and must be notified of its end. */
  isSentToCentral = false;

  /** Whether central finds its workers, if it is present. */
  get needsCentral(): boolean {
    const { by } = this.route;
    return by === 'central' || by === 'matching';
  }

  /** Whether its tasks may go to workers that seek any task: always, or while central is silent. */
  get maySeek(): boolean {
    const { by } = this.route;
    return !this.hasGangs && (by === 'seeking' || (by === 'matching' && this.#decision.class === 'short'));
  }

  get sample(): Sample | undefined {
    return this.#sample;
  }

  /** Whether its class is still undecided. */
  get isUndecided(): boolean {
    return this.#sample?.isDecided === false;
  }

  /** Some of its tasks run first. */
  startSample(sample: Sample): void {
    this.#sample = sample;
    this.waiting.startSample(sample);
  }

  /** Sets the class, decided by pilots or by the guess. */
  classify(decision: Decision, now: Millis): void {
    const sample = this.#sample;
    invariant(sample?.isDecided === false, () => `${this.id} was decided upon twice`);
    this.waiting.endSample(sample);
    sample.isDecided = true;
    this.classifiedAt = now;
    this.#decision = decision;
  }

  /** Restores an earlier incarnation's decision. */
  restoreDecision(decision: Partial<Decision>): void {
    this.#decision = { ...this.#decision, ...decision };
  }

  /** Refines the estimate of a job already known to be long. */
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

  /** Number of tasks that may be assigned within the job's limit on running tasks. */
  get assignableCount(): number {
    if (this.isHeld) return 0;
    const limit = this.spec.maxRunning;
    const { isOnProbation } = this.history;
    if (limit === undefined && !isOnProbation) return Number.POSITIVE_INFINITY;
    if (isOnProbation && this.history.isTrialRunning) return 0;
    const out = this.runningCount + this.tasks.countOf(TaskState.placed);
    const room = Math.max(0, (limit ?? Number.POSITIVE_INFINITY) - out);
    return isOnProbation ? Math.min(1, room) : room;
  }

  /** Whether the number of running tasks is limited, by the submitter or because workers were lost. */
  get isConcurrencyLimited(): boolean {
    return this.spec.maxRunning !== undefined || this.history.isOnProbation;
  }

  /** The deadline on the owner's clock; Infinity: none. */
  get deadlineAt(): Millis {
    return (this.reopenedAt ?? this.acceptedAt) + (this.spec.deadlineMs ?? Number.POSITIVE_INFINITY);
  }

  /** End of the time limit on the owner's clock; Infinity: no limit, or not started. */
  get timeLimitAt(): Millis {
    return (
      (this.#runStartedAt ?? Number.POSITIVE_INFINITY) + (this.spec.timeLimitMs ?? Number.POSITIVE_INFINITY)
    );
  }

  /** Whether no task runs, is in flight to a worker, or has ended. */
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

  /** Gang members that have a worker. */
  runningMembers({ first, count }: Stage): TaskIndex[] {
    const out: TaskIndex[] = [];
    for (let task = first; task < first + count; task++)
      if (this.tasks.stateOf(task) === TaskState.running) out.push(task);
    return out;
  }

  /** The gang of the task; undefined: it starts individually. */
  gangStageOf(task: TaskIndex): Stage | undefined {
    if (!this.hasGangs) return undefined;
    const stage = this.dag.stageOf(task);
    return stage.gang === undefined ? undefined : stage;
  }

  /** Whether all remaining members of a gang may be assigned together. */
  canStartGang(stage: Stage): boolean {
    const { maxRunning = Number.POSITIVE_INFINITY } = this.spec;
    return stage.waiting === stage.unfinished && stage.waiting <= maxRunning - this.runningCount;
  }

  /** The only place where a task changes state; updates all counts. */
  setState(task: TaskIndex, state: TaskState): void {
    this.waiting.setState(task, state);
    if (state < TaskState.completed || this.spec.openMs === undefined) return;
    const [stage] = this.stages;
    if (state === TaskState.completed) stage!.dropInput(task);
    const { reports } = this.history;
    const settled = this.tasks.archivePage(task, (of) => reports.isRecorded(of));
    if (settled > 0) reports.archived(task, stage!.archived(settled));
  }

  /** Appends tasks to its only stage; they wait until they are durable. */
  append(payloads: readonly Payload[]): void {
    this.tasks.grow(payloads.length);
    this.stages[0]!.append(payloads);
  }

  /** Records that this many tasks are durable and may start with their stage. @returns how many are new */
  markDurable(count: number): number {
    const stage = this.stages[0]!;
    const { durableCount } = stage;
    if (count <= durableCount) return 0;
    stage.durableCount = count;
    if (!this.hasPendingPredecessors && !this.cancelling) this.waiting.release(stage, durableCount);
    return count - durableCount;
  }

  /**
   * The job has ended, and some of its tasks run again as further attempts: with a new budget of retries, and with
   * time limit and deadline restarted. No stage is released yet.
   *
   * @param key of the request
   */
  reopen({ marks }: Reopening, key: string, now: Millis): void {
    invariant(this.hasEnded, () => `${this.id} was retried before it had ended`);
    this.isLearned = this.tasks.countOf(TaskState.completed) > 0;
    this.tasks.reopen(marks);
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
    // It may have ended after its predecessors and before its own start.
    this.hasPendingPredecessors = this.pendingPredecessors.size > 0;
    this.reopenedAt = now;
    this.eligibleAt = now;
    this.#runStartedAt = undefined;
    this.retryKeys.push(key);
    if (this.retryKeys.length > RETRY_KEYS_MAX) this.retryKeys.shift();
  }

  /** The predecessors have ended. */
  predecessorsEnded(now: Millis): void {
    this.hasPendingPredecessors = false;
    this.predecessorsEndedAt = now;
    this.eligibleAt = now;
  }

  /** Whether the task, or the job, was cancelled, so that it must not be retried. */
  isCancelling(task: TaskIndex): boolean {
    return this.cancelling || this.#cancelledTasks?.[task] === 1;
  }

  /** Whether the current attempt of the task must end: the task was cancelled, or its gang is broken. */
  mustEnd(task: TaskIndex): boolean {
    return this.isCancelling(task) || this.gangStageOf(task)?.gang?.breakOutcome !== undefined;
  }

  /** Whether some of its tasks were cancelled individually. */
  get hasCancelledTasks(): boolean {
    return this.#cancelledTasks !== undefined;
  }

  /** Cancels tasks that have not ended. @returns whether any of them was not cancelled before */
  cancelTasks(ranges: readonly TaskRange[]): boolean {
    let isNew = false;
    for (const { first, last } of ranges) {
      for (let task = first; task <= Math.min(last, this.taskCount - 1); task++) {
        if (this.tasks.isFinal(task) || this.isCancelling(task)) continue;
        this.#cancelledMarks()[task] = 1;
        isNew = true;
      }
    }
    return isNew;
  }

  /** Sized by the number of tasks, because clients may append some. */
  #cancelledMarks(): Uint8Array {
    const marks = this.#cancelledTasks;
    if (marks !== undefined && marks.length >= this.taskCount) return marks;
    const longer = new Uint8Array(this.taskCount);
    if (marks !== undefined) longer.set(marks);
    this.#cancelledTasks = longer;
    return longer;
  }

  /** Whether the user holds the job. */
  get isHeld(): boolean {
    return this.hold?.isOn === true;
  }

  /** The job was released. If no task has started, it counts as newly arrived. */
  released(now: Millis): void {
    if (this.hasPendingPredecessors || this.firstStartAt !== undefined) return;
    this.eligibleAt = now;
    for (const stage of this.stages) if (stage.blockers === 0) stage.releasedAt = now;
  }

  /** Cancels all tasks without a worker. */
  cancelWaiting(): void {
    for (const stage of this.stages) this.waiting.cancel(stage);
  }

  /** Factor of the work by which it is ordered. */
  get slackFactor(): number {
    return SLACK[this.priority];
  }

  /** All tasks of the stage may start from now on. */
  release(stage: Stage, now: Millis): void {
    stage.releasedAt = now;
    this.waiting.release(stage);
  }

  /** Back-off of a failed task before its retry. 0: none */
  backoffMsOf(task: TaskIndex): Millis {
    return backoffMs(this.spec, this.id, task, this.history.blame?.failuresOf(task) ?? 1);
  }

  /** The failed task is in back-off until this time. */
  backOff(task: TaskIndex, until: Millis): void {
    this.setState(task, TaskState.blocked);
    this.tasks.setWorker(task, NOBODY);
    this.inBackoff.add(task, until);
  }

  /** All tasks of the stage have ended. @returns the stages that may start, or that ended with it */
  stageEnded(stage: Stage): Stage[] {
    stage.inputs = undefined;
    return this.dag.ended(stage, this.tasks, this.cancelling, (other) => this.waiting.cancel(other));
  }

  /** The task waits again after an attempt. */
  requeue(task: TaskIndex): void {
    this.waiting.requeue(task);
    this.tasks.setWorker(task, NOBODY);
  }

  /** The worker has the task; its attempt was numbered when it was taken or placed. */
  bound(task: TaskIndex, worker: Address, assignment: Assignment, now: Millis): void {
    this.tasks.assign(task, worker, assignment, now);
    this.startedAt(now);
    this.setState(task, TaskState.running);
    this.history.started(task);
  }

  /** A task started at this time, possibly before others that are known. */
  startedAt(at: Millis): void {
    this.firstStartAt = Math.min(this.firstStartAt ?? at, at);
    this.#runStartedAt = Math.min(this.#runStartedAt ?? at, at);
  }

  /** The current attempt was assigned and did not start; it does not count. */
  notStarted(task: TaskIndex): void {
    this.history.notStarted(task);
    this.#clearStart();
  }

  /** Without an attempt that counts, no task has started. */
  #clearStart(): void {
    if (this.history.total > 0) return;
    this.firstStartAt = undefined;
    this.#runStartedAt = undefined;
  }

  /**
   * The current attempt of a task has ended.
   *
   * @param worker its name, not used for completed tasks
   * @returns the next state of the task: `waiting` if it is retried
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
        const mayTryAgain = history.lost(end.task, worker, end.runMs, cancelling, now);
        return cancelling ? cancelled : mayTryAgain ? waiting : failed;
      }
      case 'failed':
        if (!isOwnersEnd(end.outcome)) this.#sample?.attemptFailed(end.task, end.runMs);
        return history.failed(end, worker, now, this.gangStageOf(end.task)) && !cancelling ? waiting : failed;
    }
  }

  /** Checks the invariants of a job between steps. */
  checkInvariants(): void {
    const counts = new Array<number>(TASK_STATE_NAMES.length).fill(0);
    for (const state of this.tasks.states) counts[state]!++;
    counts.forEach((count, state) => {
      invariant(
        count === this.tasks.countOf(state as TaskState),
        () =>
          `${this.id}: ${count} tasks are ${TASK_STATE_NAMES[state]}, counted ${this.tasks.countOf(state as TaskState)}`,
      );
    });
    for (const stage of this.stages) {
      let waiting = 0;
      let unfinished = 0;
      for (let task = stage.first; task < stage.first + stage.count; task++) {
        if (this.tasks.states[task] === TaskState.waiting && !this.sample?.isUndecidedPilot(task)) waiting++;
        if (!this.tasks.isFinal(task)) unfinished++;
      }
      invariant(
        waiting === stage.waiting,
        () => `${this.id}: ${waiting} tasks wait, counted ${stage.waiting}`,
      );
      invariant(
        unfinished === stage.unfinished,
        () => `${this.id}: ${unfinished} unfinished, counted ${stage.unfinished}`,
      );
    }
    const pilots = this.sample?.pilots;
    const waiting = this.sample?.tasks.filter(
      (task) => this.sample?.isUndecidedPilot(task) && this.tasks.states[task] === TaskState.waiting,
    );
    invariant(
      waiting?.length === pilots?.waiting,
      () => `${this.id}: ${waiting?.length} pilots wait, counted ${pilots?.waiting}`,
    );
    invariant(
      this.hasEnded === (this.unfinishedCount === 0 && (!this.isOpen || this.cancelling)),
      () => `${this.id}: ended ${this.hasEnded}, ${this.unfinishedCount} left, open ${this.isOpen}`,
    );
    for (let task = 0; task < this.taskCount; task++) {
      const state = this.tasks.stateOf(task);
      const isOut = state === TaskState.running || state === TaskState.placed;
      invariant(
        !isOut || this.tasks.workerOf(task) !== NOBODY,
        () => `task ${task} of ${this.id} runs nowhere`,
      );
      invariant(
        this.tasks.isIndexedCorrectly(task, isOut),
        () => `task ${task} of ${this.id} is kept at another worker than ${this.tasks.workerOf(task)}`,
      );
    }
  }
}

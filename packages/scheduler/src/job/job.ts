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
import type { ArrivingJob, Estimate, Judgement } from '@goshawk/predictor';
import { type AttemptEnd, AttemptHistory } from './attempt-history.js';
import type { Batch, Stage } from './batch.js';
import type { Decision } from './classify.js';
import { Dag } from './dag.js';
import type { Hold } from './hold.js';
import type { HowEnded } from './outcomes.js';
import type { Reopening } from './reopening.js';
import { RestingTasks } from './resting-tasks.js';
import { restMs } from './retrying.js';
import type { Sample } from './sample.js';
import { type Assignment, TASK_STATE_NAMES, TaskState, TaskTable } from './task-table.js';
import { WaitingTasks } from './waiting-tasks.js';

export { TASK_STATE_NAMES, TaskState };

/** A client repeats one request at a time: more keys than this are never outstanding. */
const RETRY_KEYS_MAX = 16;
const GANG_ROUTE: Route = { by: 'matching', over: 'all' };

/** Everything an owner knows of one job. */
export class Job {
  readonly number: JobNumber;
  readonly id: string;
  /** Chosen by the client. */
  readonly key: string | undefined;
  readonly spec: JobSpec;
  readonly arriving: ArrivingJob;
  /** Judgement at arrival, or at a restart of the owner. */
  judgement: Judgement;
  readonly acceptedAt: Millis;
  priority: Priority;
  /** Undefined where its user has never held it. */
  hold: Hold | undefined;
  /** Tasks of some stage start together. */
  readonly hasGangs: boolean;
  readonly tasks: TaskTable;
  readonly history: AttemptHistory;
  #dag: Dag;
  #waiting: WaitingTasks;
  #resting: RestingTasks;
  /** Ids of the jobs that it still waits for. */
  readonly awaited: Set<string>;
  /** Other jobs have to end before any stage of it may start. */
  isAwaiting: boolean;
  /** When the jobs that it waited for had ended. */
  passedAt: Millis;
  /** When it might start at the earliest: that, and nobody held it any more. */
  arrivedAt: Millis;
  #decision: Decision;
  /** Its tasks of which some run first, so that it can be decided what the others are. */
  #sample: Sample | undefined;
  /** 1 for those that were cancelled one by one; made when one is. */
  #cancelledTasks: Uint8Array | undefined;
  /** When its class was decided by its pilots. */
  decidedAt: Millis | undefined;
  cancelling = false;
  /** Why its owner has cancelled it, where nobody else has. */
  cancelReason: string | undefined;
  /** Memory of the submission and of its recorded attempts, as the store counts it. */
  specBytes = 0;
  bytes = 0;
  /** Its estimated bytes in the journal, as counted for its user. */
  journalBytes = 0;
  /** Clients append tasks: it does not end before it is closed. */
  isOpen: boolean;
  /** Digest of all tasks by the last appending client. */
  digest = '';
  /** When a client that appends, or watches, was last heard of. */
  heardAt: Millis = 0;
  /** Unless it is, nothing of it may be given out. */
  isWritten = true;
  endedAt: Millis | undefined;
  firstStartAt: Millis | undefined;
  /** When it was last retried. */
  reopenedAt: Millis | undefined;
  /** When its first task started since it was accepted or last retried. */
  #runStartedAt: Millis | undefined;
  /** The last keys of retries, so that a request that comes again does nothing. */
  readonly retryKeys: string[] = [];
  /** An estimator has learned from it. */
  wasLearned = false;
  /** Probes that another worker has taken, or was given, than they were sent to. */
  probesMoved = 0;
  /** Last time that all unplaced tasks were sent to central. */
  placeSentAt: Millis = 0;
  /** For so long at least tasks that were placed are left alone. */
  placedPauseMs: Millis = 0;

  constructor(fields: {
    number: JobNumber;
    id: string;
    key?: string | undefined;
    spec: JobSpec;
    arriving: ArrivingJob;
    judgement: Judgement;
    decision: Decision;
    acceptedAt: Millis;
    hold?: Hold | undefined;
  }) {
    this.number = fields.number;
    this.id = fields.id;
    this.key = fields.key;
    this.spec = fields.spec;
    this.arriving = fields.arriving;
    this.judgement = fields.judgement;
    this.#decision = fields.decision;
    this.acceptedAt = fields.acceptedAt;
    this.arrivedAt = fields.acceptedAt;
    this.passedAt = fields.acceptedAt;
    this.awaited = new Set([...(fields.spec.after ?? []), ...(fields.spec.afterOk ?? [])]);
    this.isAwaiting = this.awaited.size > 0;
    this.priority = fields.spec.priority ?? 'normal';
    this.hold = fields.hold;
    this.#dag = new Dag(fields.spec, fields.decision.lane, fields.acceptedAt);
    this.hasGangs = hasGangs(fields.spec);
    this.tasks = new TaskTable(
      fields.number,
      sumOf(this.#dag.stages, ({ count }) => count),
    );
    if (fields.spec.retryOf !== undefined) {
      this.tasks.skipAllBut(fields.spec.retryOf.tasks);
      this.#dag = this.#dag.reopened(this.tasks, fields.acceptedAt);
    }
    this.isOpen = fields.spec.openMs !== undefined;
    this.#waiting = new WaitingTasks(this.tasks, this.#dag);
    this.history = new AttemptHistory(fields, this.tasks);
    this.#resting = new RestingTasks(this.tasks);
  }

  get dag(): Dag {
    return this.#dag;
  }

  get waiting(): WaitingTasks {
    return this.#waiting;
  }

  get resting(): RestingTasks {
    return this.#resting;
  }

  get taskCount(): number {
    return this.tasks.count;
  }

  get stages(): readonly Stage[] {
    return this.dag.stages;
  }

  /** The stages, then the pilots and the rest of each stage where there is a sample; each at the place of its index. */
  get batches(): readonly Batch[] {
    return this.waiting.batches;
  }

  /** Treated as; while it is undecided, as a short one. */
  get class(): JobClass {
    return this.#decision.class;
  }

  /** Basis of the class, for `job` and `why`. */
  get classifiedBy(): string {
    return this.#decision.by;
  }

  /** Mean run time of its tasks, as it is believed; undefined where nothing is. */
  get estimateMs(): Millis | undefined {
    return this.#decision.estimateMs;
  }

  /** Mean run time of its tasks, as it is believed or else guessed: 0 of a job of which nothing is known. */
  get believedMs(): Millis {
    return this.#decision.estimateMs ?? this.#decision.guessMs ?? 0;
  }

  /** Mean of the tasks that ran; before that, the estimate or guess. */
  get meanRunMs(): Millis | undefined {
    const completed = this.tasks.countOf(TaskState.completed);
    if (completed > 0) return this.history.workedMs / completed;
    return this.#decision.estimateMs ?? this.#decision.guessMs;
  }

  /** Mean run time of the stage's tasks: as the estimator tells it, else as the submitter does; undefined: as the job's. */
  estimateOf({ index, spec }: Pick<Stage, 'index' | 'spec'>): Millis | undefined {
    return this.#decision.stagesMs?.[index] ?? spec.estimateMs;
  }

  /** Mean run time of each stage's tasks, where the estimator tells stages apart. */
  get stagesMs(): readonly Millis[] | undefined {
    return this.#decision.stagesMs;
  }

  /** How run times are spread, where the estimator knows. */
  get distribution(): readonly Segment[] | undefined {
    return this.#decision.distribution;
  }

  /** Gangs start by central alone, which sees all workers at once. */
  get route(): Route {
    return this.hasGangs ? GANG_ROUTE : this.#decision.route;
  }

  /** Central has been told of the whole job, and has to be told when it is over. */
  isDeclared = false;

  /** Central finds its workers, while it is there. */
  get needsCentral(): boolean {
    const { by } = this.route;
    return by === 'central' || by === 'matching';
  }

  /** Its tasks may go to workers that seek any: always, or while central is silent. */
  get maySeek(): boolean {
    const { by } = this.route;
    return !this.hasGangs && (by === 'seeking' || (by === 'matching' && this.#decision.class === 'short'));
  }

  get sample(): Sample | undefined {
    return this.#sample;
  }

  /** Its class is not decided yet. */
  get isUndecided(): boolean {
    return this.#sample?.isDecided === false;
  }

  /** Some of its tasks run first. */
  startSample(sample: Sample): void {
    this.#sample = sample;
    this.waiting.startSample(sample);
  }

  /** By its pilots, or by what was believed instead. */
  decide(decision: Decision, now: Millis): void {
    const sample = this.#sample;
    invariant(sample?.isDecided === false, () => `${this.id} was decided upon twice`);
    this.waiting.endSample(sample);
    sample.isDecided = true;
    this.decidedAt = now;
    this.#decision = decision;
  }

  /** Restores an earlier incarnation's decision. */
  redecide(decision: Partial<Decision>): void {
    this.#decision = { ...this.#decision, ...decision };
  }

  /** Refines the estimate of a job already known to be long. */
  refine({ meanMs: estimateMs, stagesMs }: Estimate): void {
    this.#sample!.estimateFollows = false;
    this.#decision = { ...this.#decision, estimateMs, stagesMs: stagesMs ?? this.stagesMs };
  }

  get runningCount(): number {
    return this.tasks.countOf(TaskState.running);
  }

  get hasEnded(): boolean {
    return this.endedAt !== undefined;
  }

  get unfinished(): number {
    return this.tasks.unfinished;
  }

  /** Tasks that may go to a worker before the job's own limit on running tasks is reached. */
  get headroom(): number {
    if (this.isHeld) return 0;
    const limit = this.spec.maxRunning;
    const { isOnProbation } = this.history;
    if (limit === undefined && !isOnProbation) return Number.POSITIVE_INFINITY;
    if (isOnProbation && this.history.isOnTrial) return 0;
    const placing = this.tasks.countOf(TaskState.placing) + this.tasks.countOf(TaskState.placed);
    const room = Math.max(0, (limit ?? Number.POSITIVE_INFINITY) - this.runningCount - placing);
    return isOnProbation ? Math.min(1, room) : room;
  }

  /** The number of its tasks that run at a time is limited: by what it says, or since workers were lost with them. */
  get isLimited(): boolean {
    return this.spec.maxRunning !== undefined || this.history.isOnProbation;
  }

  /** The deadline on the owner's clock; Infinity: none. */
  get deadlineAt(): Millis {
    return (this.reopenedAt ?? this.acceptedAt) + (this.spec.deadlineMs ?? Number.POSITIVE_INFINITY);
  }

  /** When its time limit will have passed, by the clock of its owner; Infinity: it has none, or has not started. */
  get timeLimitAt(): Millis {
    return (
      (this.#runStartedAt ?? Number.POSITIVE_INFINITY) + (this.spec.timeLimitMs ?? Number.POSITIVE_INFINITY)
    );
  }

  /** Nothing of it runs, is on its way to a worker, or has ended. */
  get isWhole(): boolean {
    const { tasks } = this;
    return tasks.countOf(TaskState.blocked) + tasks.countOf(TaskState.waiting) === tasks.included;
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
      total: tasks.included,
      waiting: tasks.waiting,
      running: tasks.countOf(TaskState.running),
      completed: tasks.countOf(TaskState.completed),
      failed: tasks.countOf(TaskState.failed),
      cancelled: tasks.countOf(TaskState.cancelled),
    };
  }

  /** Tasks of the gang that have a worker. */
  membersOut({ first, count }: Stage): TaskIndex[] {
    const out: TaskIndex[] = [];
    for (let task = first; task < first + count; task++)
      if (this.tasks.stateOf(task) === TaskState.running) out.push(task);
    return out;
  }

  /** The gang that the task is of; undefined: it starts by itself. */
  gangStageOf(task: TaskIndex): Stage | undefined {
    if (!this.hasGangs) return undefined;
    const stage = this.dag.stageOf(task);
    return stage.gang === undefined ? undefined : stage;
  }

  /** Whether all that is left of a gang may be given to workers together. */
  mayStartTogether(stage: Stage): boolean {
    const { maxRunning = Number.POSITIVE_INFINITY } = this.spec;
    return stage.waiting === stage.unfinished && stage.waiting <= maxRunning - this.runningCount;
  }

  /** The one place where a task changes state; keeps every count in step. */
  set(task: TaskIndex, state: TaskState): void {
    this.waiting.set(task, state);
    if (state === TaskState.completed && this.spec.openMs !== undefined) this.stages[0]!.completed(task);
  }

  /** More tasks of its only stage, which wait until they are on the disk. */
  append(payloads: readonly Payload[]): void {
    this.tasks.grow(payloads.length);
    this.stages[0]!.grow(payloads);
  }

  /** So many tasks are on the disk: they may start as soon as their stage may. @returns how many are new */
  appendedAreWritten(count: number): number {
    const stage = this.stages[0]!;
    const { written } = stage;
    if (count <= written) return 0;
    stage.written = count;
    if (!this.isAwaiting && !this.cancelling) this.waiting.release(stage, written);
    return count - written;
  }

  /**
   * The job has ended, and some of its tasks run again as further attempts: with a new budget of retries, and its time limit
   * and deadline count from now. Nothing is released yet.
   *
   * @param key of the request
   */
  reopen({ marks }: Reopening, key: string, now: Millis): void {
    invariant(this.hasEnded, () => `${this.id} was retried before it had ended`);
    this.wasLearned = this.tasks.countOf(TaskState.completed) > 0;
    this.tasks.reopen(marks);
    this.history.reports.forget(marks);
    this.history.renew();
    this.#dag = this.#dag.reopened(this.tasks, now);
    this.#waiting = new WaitingTasks(this.tasks, this.#dag);
    this.#resting = new RestingTasks(this.tasks);
    this.#sample = undefined;
    this.isOpen = false;
    this.cancelling = false;
    this.cancelReason = undefined;
    this.#cancelledTasks = undefined;
    this.hold = undefined;
    this.endedAt = undefined;
    // It may have ended between the end of the last job before it and its own start.
    this.isAwaiting = this.awaited.size > 0;
    this.reopenedAt = now;
    this.arrivedAt = now;
    this.#runStartedAt = undefined;
    this.placeSentAt = 0;
    this.placedPauseMs = 0;
    this.retryKeys.push(key);
    if (this.retryKeys.length > RETRY_KEYS_MAX) this.retryKeys.shift();
  }

  /** The jobs that it waited for have ended. */
  mayStart(now: Millis): void {
    this.isAwaiting = false;
    this.passedAt = now;
    this.arrivedAt = now;
  }

  /** Somebody has cancelled the task, or the job: it is to be tried no more. */
  isCancelling(task: TaskIndex): boolean {
    return this.cancelling || this.#cancelledTasks?.[task] === 1;
  }

  /** Some of its tasks were cancelled one by one. */
  get hasCancelledTasks(): boolean {
    return this.#cancelledTasks !== undefined;
  }

  /** Single tasks are to end, unless they have. @returns whether any of them was not to before */
  cancelTasks(ranges: readonly TaskRange[]): boolean {
    let isNew = false;
    for (const { first, last } of ranges) {
      for (let task = first; task <= Math.min(last, this.taskCount - 1); task++) {
        if (this.tasks.isFinal(task) || this.isCancelling(task)) continue;
        this.#cancelled()[task] = 1;
        isNew = true;
      }
    }
    return isNew;
  }

  /** Sized by the number of tasks, since clients may append some. */
  #cancelled(): Uint8Array {
    const marks = this.#cancelledTasks;
    if (marks !== undefined && marks.length >= this.taskCount) return marks;
    const longer = new Uint8Array(this.taskCount);
    if (marks !== undefined) longer.set(marks);
    this.#cancelledTasks = longer;
    return longer;
  }

  /** Its user wants that nothing of it is given out. */
  get isHeld(): boolean {
    return this.hold?.isOn === true;
  }

  /** It is held no more. One of which nothing has started is as if it had come now. */
  released(now: Millis): void {
    if (this.isAwaiting || this.firstStartAt !== undefined) return;
    this.arrivedAt = now;
    for (const stage of this.stages) if (stage.blockers === 0) stage.releasedAt = now;
  }

  /** Ends all tasks that no worker has. */
  cancelWaiting(): void {
    for (const stage of this.stages) this.waiting.cancel(stage);
  }

  /** Factor of the work that it is ordered by. */
  get slack(): number {
    return SLACK[this.priority];
  }

  /** All tasks of the stage may start from now on. */
  release(stage: Stage, now: Millis): void {
    stage.releasedAt = now;
    this.waiting.release(stage);
  }

  /** How long the task is to rest, which has just failed and may be tried again. 0: not at all */
  restMsOf(task: TaskIndex): Millis {
    return restMs(this.spec, this.id, task, this.history.blame?.failuresOf(task) ?? 1);
  }

  /** The task has failed, and does not wait for a worker before that time. */
  rest(task: TaskIndex, until: Millis): void {
    this.set(task, TaskState.blocked);
    this.tasks.setWorker(task, NOBODY);
    this.resting.add(task, until);
  }

  /** All tasks of the stage have ended. @returns the stages that may start, or ended with it */
  stageEnded(stage: Stage): Stage[] {
    stage.inputs = undefined;
    return this.dag.ended(stage, this.tasks, this.cancelling, (other) => this.waiting.cancel(other));
  }

  /** The task waits again after an attempt. */
  putBack(task: TaskIndex): void {
    this.waiting.putBack(task);
    this.tasks.setWorker(task, NOBODY);
  }

  /** The worker has the task, whose attempt was numbered when it was taken, or when it was placed. */
  bound(task: TaskIndex, worker: Address, assignment: Assignment, now: Millis): void {
    this.tasks.assign(task, worker, assignment, now);
    this.startedAt(now);
    this.set(task, TaskState.running);
    this.history.started(task);
  }

  /** One of its tasks has started then, perhaps before others that are known. */
  startedAt(at: Millis): void {
    this.firstStartAt = Math.min(this.firstStartAt ?? at, at);
    this.#runStartedAt = Math.min(this.#runStartedAt ?? at, at);
  }

  /** The current attempt was given out and did not start: it does not count. */
  notStarted(task: TaskIndex): void {
    this.history.notStarted(task);
    this.#forgetStart();
  }

  /** Without an attempt that counts, nothing has started. */
  #forgetStart(): void {
    if (this.history.total > 0) return;
    this.firstStartAt = undefined;
    this.#runStartedAt = undefined;
  }

  /**
   * The current attempt of a task has ended.
   *
   * @param worker its name, which is not read where it completed
   * @returns what becomes of the task: `waiting` where it is to be tried again
   */
  attemptEnded(end: AttemptEnd, how: HowEnded, worker: string, now: Millis): TaskState {
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
        this.#forgetStart();
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

  /** Invariants of a job between steps. */
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
        if (this.tasks.states[task] === TaskState.waiting && !this.sample?.holds(task)) waiting++;
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
      (task) => this.sample?.holds(task) && this.tasks.states[task] === TaskState.waiting,
    );
    invariant(
      waiting?.length === pilots?.waiting,
      () => `${this.id}: ${waiting?.length} pilots wait, counted ${pilots?.waiting}`,
    );
    invariant(
      this.hasEnded === (this.unfinished === 0 && (!this.isOpen || this.cancelling)),
      () => `${this.id}: ended ${this.hasEnded}, ${this.unfinished} left, open ${this.isOpen}`,
    );
    for (let task = 0; task < this.taskCount; task++) {
      const state = this.tasks.stateOf(task);
      const isOut = state === TaskState.running || state === TaskState.placed;
      invariant(
        !isOut || this.tasks.workers[task] !== NOBODY,
        () => `task ${task} of ${this.id} runs nowhere`,
      );
      invariant(
        this.tasks.isPlacedRight(task, isOut),
        () => `task ${task} of ${this.id} is kept at another worker than ${this.tasks.workers[task]}`,
      );
    }
  }
}

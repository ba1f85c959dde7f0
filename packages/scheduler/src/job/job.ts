import {
  type Address,
  invariant,
  isOwnersEnd,
  type JobClass,
  type JobSpec,
  type JobState,
  LIMITS,
  type Millis,
  NOBODY,
  type Outcome,
  type Payload,
  type Route,
  type Segment,
  startFault,
  startFaultOf,
  type TaskCounts,
} from '@goshawk/core';
import type { ArrivingJob, Estimate, Judgement } from '@goshawk/predictor';
import type { Decision } from '../accepting/classify.js';
import { Blame, StartFaults } from '../ending/blame.js';
import type { Sample } from '../sampling/sample.js';
import type { Assignment } from './assignment.js';
import type { AttemptRef } from './attempt-ref.js';
import { type Batch, type Stage, stagesOf } from './batch.js';
import { checkJob } from './invariants.js';
import { ABANDONED, GIVEN_UP, LOST, LOST_BESIDE, outOfTime } from './outcomes.js';
import { isWorthARetry, restMs } from './retrying.js';
import { TaskReports } from './task-reports.js';
import { TASK_STATE_NAMES, TaskState } from './task-state.js';

export { ABANDONED, GIVEN_UP, LOST, LOST_BESIDE, outOfTime, TASK_STATE_NAMES, TaskState };

const NO_COUNTS: ReadonlyMap<number, number> = new Map();

/** Everything an owner knows of one job. Tasks are columns of numbers, so that many of them cost little. */
export class Job {
  readonly number: number;
  readonly id: string;
  readonly spec: JobSpec;
  readonly arriving: ArrivingJob;
  readonly judgement: Judgement;
  #decision: Decision;
  /** Its tasks of which some run first, so that it can be decided what the others are. */
  #sample: Sample | undefined;
  readonly acceptedAt: Millis;
  readonly stages: readonly Stage[];
  /** The stages, then what else is looked for by itself; each at the place of its index. */
  #batches: readonly Batch[];
  readonly taskCount: number;

  readonly states: Uint8Array;
  /** The number of the current attempt; 0 before the first. */
  readonly attempts: Uint32Array;
  /**
   * The highest number that earlier incarnations of the owner may have given an attempt of the task; undefined for a job
   * of this one.
   */
  usedUpTo: Uint32Array | undefined;
  readonly workers: Int32Array;
  /** By what the current attempt came to its worker (`AssignedBy`), and the number of that. */
  readonly assignedBy: Uint8Array;
  readonly assignments: Float64Array;
  /** When the current attempt was bound, then when the attempt that counted started. Clock of the owner. */
  readonly startedAt: Float64Array;
  readonly runMs: Float64Array;

  // Made when there is something to be in them: most jobs have none of these.
  #failures: Map<number, number> | undefined;
  #losses: Map<number, number> | undefined;
  /** Tasks that failed, until when they rest; some of them may have gone on, or ended. */
  #resting: Map<number, Millis> | undefined;
  /** Nothing rests for less than until then; Infinity: nothing rests. */
  restsUntil: Millis = Number.POSITIVE_INFINITY;

  #startFaults: StartFaults | undefined;
  /** Whose fault it is where attempts came to nothing. */
  #blame: Blame | undefined;

  cancelling = false;
  /** Unless it is, nothing of it may be given out. */
  isWritten = true;
  endedAt: Millis | undefined;
  firstStartAt: Millis | undefined;
  /** Tasks in states placing, placed and running: nothing else can change by itself. */
  #counts: number[] = new Array<number>(TASK_STATE_NAMES.length).fill(0);
  readonly reports: TaskReports;
  attemptsTotal = 0;
  /** Probes that another worker has taken, or was given, than they were sent to. */
  probesMoved = 0;
  attemptsFailed = 0;
  attemptsLost = 0;
  /** Attempts that their workers could not start. */
  #failedStarts = 0;
  wastedMs = 0;
  /** Run time of the tasks that completed. */
  workedMs = 0;
  /** Last time that all unplaced tasks were sent to central. */
  placeSentAt: Millis = 0;
  /** For so long at least tasks that were placed are left alone. */
  placedPauseMs: Millis = 0;

  constructor(fields: {
    number: number;
    id: string;
    spec: JobSpec;
    arriving: ArrivingJob;
    judgement: Judgement;
    decision: Decision;
    acceptedAt: Millis;
  }) {
    this.number = fields.number;
    this.id = fields.id;
    this.spec = fields.spec;
    this.arriving = fields.arriving;
    this.judgement = fields.judgement;
    this.#decision = fields.decision;
    this.acceptedAt = fields.acceptedAt;
    this.stages = stagesOf(fields.spec, fields.decision.lane, fields.acceptedAt);
    this.#batches = this.stages;
    const total = this.stages.reduce((sum, { count }) => sum + count, 0);
    this.taskCount = total;
    this.reports = new TaskReports(this.number, total);
    this.states = new Uint8Array(total);
    this.attempts = new Uint32Array(total);
    this.workers = new Int32Array(total).fill(NOBODY);
    this.assignedBy = new Uint8Array(total);
    this.assignments = new Float64Array(total);
    this.startedAt = new Float64Array(total);
    this.runMs = new Float64Array(total);
    this.#counts[TaskState.blocked] = total;
  }

  /** Attempts that failed by their own fault, of tasks that have any. */
  get failures(): ReadonlyMap<number, number> {
    return this.#failures ?? NO_COUNTS;
  }

  /** Attempts that were cut short with their worker. */
  get losses(): ReadonlyMap<number, number> {
    return this.#losses ?? NO_COUNTS;
  }

  countOf(state: TaskState): number {
    return this.#counts[state]!;
  }

  /** Treated as; while it is undecided, as a short one. */
  get class(): JobClass {
    return this.#decision.class;
  }

  /** What the class rests on, for `job` and `why`. */
  get classifiedBy(): string {
    return this.#decision.by;
  }

  /** Mean run time of its tasks, as it is believed; undefined where nothing is. */
  get estimateMs(): Millis | undefined {
    return this.#decision.estimateMs;
  }

  /** The same where something is needed to go by: 0 of a job of which nothing is known. */
  get believedMs(): Millis {
    return this.#decision.estimateMs ?? this.#decision.guessMs ?? 0;
  }

  /** Mean run time of the stage's tasks: as the estimator tells it, else as the submitter does; undefined: as the job's. */
  estimateOf({ index, spec }: Pick<Stage, 'index' | 'spec'>): Millis | undefined {
    return this.#decision.stagesMs?.[index] ?? spec.estimateMs;
  }

  /** How run times are spread, where the estimator knows. */
  get distribution(): readonly Segment[] | undefined {
    return this.#decision.distribution;
  }

  get route(): Route {
    return this.#decision.route;
  }

  /** Central finds its workers, while it is there. */
  get needsCentral(): boolean {
    const { by } = this.#decision.route;
    return by === 'central' || by === 'matching';
  }

  /** Its tasks may go to workers that seek any: always, or while central is silent. */
  get maySeek(): boolean {
    const { by } = this.#decision.route;
    return by === 'seeking' || (by === 'matching' && this.#decision.class === 'short');
  }

  get sample(): Sample | undefined {
    return this.#sample;
  }

  /** Its pilots have not told yet. */
  get isUndecided(): boolean {
    return this.#sample?.isDecided === false;
  }

  get batches(): readonly Batch[] {
    return this.#batches;
  }

  /** Some of its tasks run first. */
  startSample(sample: Sample): void {
    this.#sample = sample;
    this.#batches = [...this.stages, sample.pilots, ...sample.early];
    for (const task of sample.tasks) {
      if (this.states[task] !== TaskState.waiting) continue;
      this.stageOf(task).waiting--;
      sample.pilots.waiting++;
      sample.pilots.queue.push(task);
    }
  }

  /** What the pilots have told, or what was believed instead; the pilots that wait are tasks like others again. */
  decide(decision: Decision, now: Millis): void {
    const sample = this.#sample;
    invariant(sample?.isDecided === false, () => `${this.id} was decided upon twice`);
    for (const task of sample.tasks) {
      if (this.states[task] !== TaskState.waiting) continue;
      const stage = this.stageOf(task);
      sample.pilots.waiting--;
      stage.waiting++;
      stage.returned.push(task);
    }
    sample.decidedAt = now;
    this.#decision = decision;
  }

  /** What an earlier incarnation of its owner has decided. */
  redecide(decision: Partial<Decision>): void {
    this.#decision = { ...this.#decision, ...decision };
  }

  /** What its pilots tell when it was decided already that it is long. */
  refine({ meanMs: estimateMs, stagesMs }: Estimate): void {
    this.#sample!.estimateFollows = false;
    this.#decision = { ...this.#decision, estimateMs, ...(stagesMs === undefined ? {} : { stagesMs }) };
  }

  get runningCount(): number {
    return this.#counts[TaskState.running]!;
  }

  get hasEnded(): boolean {
    return this.endedAt !== undefined;
  }

  get unfinished(): number {
    const counts = this.#counts;
    return (
      this.taskCount - counts[TaskState.completed]! - counts[TaskState.failed]! - counts[TaskState.cancelled]!
    );
  }

  /** Tasks that may go to a worker before the job's own limit on running tasks is reached. */
  get headroom(): number {
    const limit = this.spec.maxRunning;
    const isOnProbation = this.#blame?.isOnProbation === true;
    if (limit === undefined && !isOnProbation) return Number.POSITIVE_INFINITY;
    const placing = this.#counts[TaskState.placing]! + this.#counts[TaskState.placed]!;
    if (isOnProbation && this.#isOnTrial()) return 0;
    const room = Math.max(0, (limit ?? Number.POSITIVE_INFINITY) - this.runningCount - placing);
    return isOnProbation ? Math.min(1, room) : room;
  }

  /** The task that was given apart last still runs. */
  #isOnTrial(): boolean {
    const trial = this.#blame?.trial;
    if (trial === undefined) return false;
    return this.states[trial.task] === TaskState.running && this.attempts[trial.task] === trial.attempt;
  }

  /** A task that has outlived its time apart clears the job. */
  reviewTrial(now: Millis): void {
    const trial = this.#blame?.trial;
    if (trial !== undefined && this.#isOnTrial())
      this.#blame?.outlives(trial.task, trial.attempt, now - this.startedAt[trial.task]!);
  }

  /** Undefined while every attempt that ended has completed. */
  get blame(): Blame | undefined {
    return this.#blame;
  }

  /** Workers have been lost with its tasks, so that the number of those that run at a time is limited. */
  get isLimited(): boolean {
    return this.spec.maxRunning !== undefined || this.#blame?.isOnProbation === true;
  }

  /** The job has ended too many workers: what has not ended fails. */
  get isGivenUp(): boolean {
    return this.#blame?.isTooMuch === true;
  }

  /** By the clock of its owner; Infinity: none. */
  get deadlineAt(): Millis {
    return this.acceptedAt + (this.spec.deadlineMs ?? Number.POSITIVE_INFINITY);
  }

  /** When its time limit will have passed, by the clock of its owner; Infinity: it has none, or has not started. */
  get timeLimitAt(): Millis {
    return (
      (this.firstStartAt ?? Number.POSITIVE_INFINITY) + (this.spec.timeLimitMs ?? Number.POSITIVE_INFINITY)
    );
  }

  /** Nothing of it runs, is on its way to a worker, or has ended. */
  get isWhole(): boolean {
    return this.#counts[TaskState.blocked]! + this.#counts[TaskState.waiting]! === this.taskCount;
  }

  get state(): JobState {
    if (this.endedAt === undefined) return this.firstStartAt === undefined ? 'waiting' : 'running';
    if (this.#counts[TaskState.failed]! > 0) return this.cancelling ? 'cancelled' : 'failed';
    return this.#counts[TaskState.cancelled]! > 0 ? 'cancelled' : 'completed';
  }

  get counts(): TaskCounts {
    const c = this.#counts;
    return {
      total: this.taskCount,
      waiting: c[TaskState.blocked]! + c[TaskState.waiting]! + c[TaskState.placing]! + c[TaskState.placed]!,
      running: c[TaskState.running]!,
      completed: c[TaskState.completed]!,
      failed: c[TaskState.failed]!,
      cancelled: c[TaskState.cancelled]!,
    };
  }

  stateOf(task: number): TaskState {
    return this.states[task] as TaskState;
  }

  workerOf(task: number): Address {
    return this.workers[task] as Address;
  }

  isFinal(task: number): boolean {
    return this.states[task]! >= TaskState.completed;
  }

  stageOf(task: number): Stage {
    let low = 0;
    let high = this.stages.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.stages[middle]!.first <= task) low = middle;
      else high = middle - 1;
    }
    return this.stages[low]!;
  }

  payloadOf(task: number): Payload {
    const stage = this.stageOf(task);
    const { tasks } = stage.spec;
    if ('count' in tasks) return tasks.run;
    return 'each' in tasks ? tasks.each[task - stage.first]! : { sleep: tasks.sleepsMs[task - stage.first]! };
  }

  /** The one place where a task changes state; keeps every count in step. */
  set(task: number, state: TaskState): void {
    const before = this.states[task]!;
    if (before === state) return;
    const stage = this.stages.length === 1 ? this.stages[0]! : this.stageOf(task);
    const batch = this.#sample?.holds(task) ? this.#sample.pilots : stage;
    invariant(
      before < TaskState.completed,
      () => `task ${task} of ${this.id} left the final state ${TASK_STATE_NAMES[before]}`,
    );
    this.#counts[before]!--;
    this.#counts[state]!++;
    if (before === TaskState.waiting) batch.waiting--;
    if (state === TaskState.waiting) batch.waiting++;
    if (state >= TaskState.completed) stage.unfinished--;
    this.states[task] = state;
  }

  /** All tasks of the stage may start from now on. */
  release(stage: Stage): void {
    for (let task = stage.first; task < stage.first + stage.count; task++) {
      if (this.states[task] !== TaskState.blocked) continue;
      this.set(task, TaskState.waiting);
      if (this.#sample?.holds(task)) this.#sample.pilots.queue.push(task);
    }
  }

  /** The task waits again after an attempt; it goes before those that never ran. */
  putBack(task: number): void {
    this.set(task, TaskState.waiting);
    this.workers[task] = NOBODY;
    if (this.#sample?.holds(task)) this.#sample.pilots.queue.push(task);
    else this.stageOf(task).returned.push(task);
  }

  /** How long the task is to rest, which has just failed and may be tried again. 0: not at all */
  restMsOf(task: number): Millis {
    return restMs(this.spec, this.id, task, this.failures.get(task) ?? 1);
  }

  /** The task has failed, and does not wait for a worker before that time. */
  rest(task: number, until: Millis): void {
    this.set(task, TaskState.blocked);
    this.workers[task] = NOBODY;
    this.#resting ??= new Map();
    this.#resting.set(task, until);
    this.restsUntil = Math.min(this.restsUntil, until);
  }

  isResting(task: number): boolean {
    return this.states[task] === TaskState.blocked && this.#resting?.has(task) === true;
  }

  /** Tasks that rest. */
  get resting(): readonly number[] {
    return this.#resting === undefined
      ? []
      : [...this.#resting.keys()].filter((task) => this.isResting(task));
  }

  /** Those that have rested by now; they rest no more, and are to be put back. */
  takeRested(now: Millis): number[] {
    const rested: number[] = [];
    this.restsUntil = Number.POSITIVE_INFINITY;
    for (const [task, until] of this.#resting ?? []) {
      if (until > now) {
        this.restsUntil = Math.min(this.restsUntil, until);
        continue;
      }
      if (this.isResting(task)) rested.push(task);
      this.#resting!.delete(task);
    }
    return rested;
  }

  /**
   * All tasks of the stage have ended: those that wait for it may start, or will never.
   *
   * @returns the stages that nothing holds back any more
   */
  stageEnded(stage: Stage): Stage[] {
    const next: Stage[] = [];
    let completed = true;
    for (let task = stage.first; task < stage.first + stage.count; task++) {
      if (this.states[task] !== TaskState.completed) completed = false;
    }
    for (const other of this.stages) {
      if (!other.spec.after.includes(stage.index)) continue;
      if (completed) {
        if (--other.blockers === 0 && !this.cancelling) next.push(other);
      } else if (other.unfinished > 0) {
        // What comes after a stage that failed cannot run.
        for (let task = other.first; task < other.first + other.count; task++) {
          if (!this.isFinal(task)) this.set(task, TaskState.cancelled);
        }
        next.push(...this.stageEnded(other));
      }
    }
    return next;
  }

  /** The batch that the task is looked for with. */
  batchOf(task: number): Batch {
    return this.#sample?.holds(task) ? this.#sample.pilots : this.stageOf(task);
  }

  /** Whose tasks the batch gives: a stage's own, or a stage's before it is decided. */
  #stageIn(batch: Batch): Stage | undefined {
    if (batch.index < this.stages.length) return this.stages[batch.index];
    const early = this.#sample?.early[batch.index - this.stages.length - 1];
    return early?.stage;
  }

  /** What stands for the batch where none is probed for before it is decided: a stage for what might run early. */
  present(batch: Batch): Batch {
    return this.#stageIn(batch) ?? batch;
  }

  /**
   * The next waiting task of the batch, in task order, or −1. The caller takes it out of `waiting`.
   *
   * @param mayGo whether a task that came back may go where this one is to; those that never ran go anywhere
   */
  takeWaiting(batch: Batch, mayGo?: (task: number) => boolean): number {
    const sample = this.#sample;
    if (batch === sample?.pilots) {
      return sample.isDecided ? -1 : this.#takeFrom(sample.pilots.queue, mayGo);
    }
    const stage = this.#stageIn(batch);
    if (stage === undefined) return -1;
    const returned = this.#takeFrom(stage.returned, mayGo);
    if (returned >= 0) return returned;
    const end = stage.first + stage.count;
    while (stage.nextFresh < end) {
      const task = stage.nextFresh++;
      if (this.states[task] === TaskState.waiting && !sample?.holds(task)) return task;
    }
    return -1;
  }

  #takeFrom(queue: number[], mayGo?: (task: number) => boolean): number {
    for (let at = 0; ; ) {
      // Most queues are empty always: to ask for that is cheaper than to shift.
      if (queue.length === at) return -1;
      const task = queue[at]!;
      const isStale = this.states[task] !== TaskState.waiting;
      if (!isStale && mayGo?.(task) === false) {
        at++;
        continue;
      }
      if (at === 0) queue.shift();
      else queue.splice(at, 1);
      if (!isStale) return task;
    }
  }

  /** Whether `takeWaiting` would find a task. */
  hasWaiting(batch: Batch, mayGo: (task: number) => boolean): boolean {
    const sample = this.#sample;
    const stage = this.#stageIn(batch);
    const returned = batch === sample?.pilots ? sample.pilots.queue : (stage?.returned ?? []);
    const came = returned.filter((task) => this.states[task] === TaskState.waiting);
    return came.some(mayGo) || new Set(came).size < batch.waiting;
  }

  /** The worker has the task, whose attempt `nextAttempt` has numbered, or central when it was placed. */
  bound(task: number, worker: Address, { by, number }: Assignment, now: Millis): void {
    this.attemptsTotal++;
    this.workers[task] = worker;
    this.assignedBy[task] = by;
    this.assignments[task] = number;
    this.startedAt[task] = now;
    this.firstStartAt ??= now;
    this.set(task, TaskState.running);
    this.#blame?.runsApart(task, this.attempts[task]!, this.losses.get(task) ?? 0);
  }

  /** The task that runs at the worker because of this assignment, or −1. */
  taskAssigned(worker: Address, { by, number }: Assignment): number {
    for (let task = 0; task < this.taskCount; task++) {
      if (this.states[task] !== TaskState.running || this.assignments[task] !== number) continue;
      if (this.assignedBy[task] === by && this.workers[task] === worker) return task;
    }
    return -1;
  }

  /** Its current attempt. */
  attemptRef(task: number): AttemptRef {
    return { job: this.number, task, attempt: this.attempts[task]! };
  }

  /** The task is about to be given out anew. */
  nextAttempt(task: number): number {
    const used = this.usedUpTo === undefined ? 0 : this.usedUpTo[task]!;
    this.attempts[task] = Math.max(this.attempts[task]!, used) + 1;
    return this.attempts[task]!;
  }

  /** The current attempt failed by the task's own fault. @returns whether the task is to be tried again */
  attemptFailed(
    task: number,
    outcome: Outcome,
    worker: string,
    runMs: Millis,
    now: Millis,
    place?: number,
  ): boolean {
    if (isOwnersEnd(outcome)) {
      if (runMs > 0) this.#noteSetback(task, outcome, worker, runMs, now);
      this.reports.setError(task, { outcome, worker }, place);
      return false;
    }
    this.attemptsFailed++;
    this.#noteSetback(task, outcome, worker, runMs, now);
    this.#failures ??= new Map();
    this.#sample?.attemptFailed(task, runMs);
    this.reports.setError(task, { outcome, worker }, place);
    const failures = countedUp(this.#failures, task);
    this.#blamed().failed(task, this.workerOf(task), now);
    // What is not there is not there the next time either.
    if (startFaultOf(outcome.errorCode) === 'unclear') return false;
    return failures <= this.spec.retries && !this.cancelling && isWorthARetry(this.spec, outcome);
  }

  /** The current attempt completed. @returns the workers that earlier ones came to nothing at */
  attemptCompleted(task: number): readonly Address[] | undefined {
    return this.#blame?.completed(task, this.workerOf(task));
  }

  /** Workers that ran tasks of the job were lost, at one time. */
  workersLost(workers: number): void {
    this.#blamed().workersLost(workers);
  }

  #blamed(): Blame {
    this.#blame ??= new Blame();
    return this.#blame;
  }

  /** Tasks that came to nothing by themselves there, in a row, while the job completes elsewhere: what to tell the worker. */
  unfitness(worker: Address): string | undefined {
    const failed = this.attemptsFailed + this.#failedStarts;
    const completed = this.#counts[TaskState.completed]!;
    if (this.#blame?.isUnfit(worker, completed, failed) !== true) return undefined;
    return `tasks of ${this.id} fail here and complete elsewhere`;
  }

  /**
   * The current attempt's worker is gone or was stopped. That costs no retry, but a task that goes through too
   * many ends. @returns whether the task is to be tried again
   */
  attemptLost(task: number, worker: string, runMs: Millis, now: Millis): boolean {
    this.attemptsLost++;
    this.#noteSetback(task, LOST, worker, runMs, now);
    this.#losses ??= new Map();
    const losses = countedUp(this.#losses, task);
    const blame = this.#blamed();
    const wasApart = blame.apartMsOf(task, this.attempts[task]!) !== undefined;
    blame.lost(task, this.attempts[task]!, losses, runMs, now);
    if (this.cancelling) return false;
    if (losses < LIMITS.lossesPerTaskMax) return true;
    const mayBe = wasApart ? '; nothing else started there, so it may want more memory than there is' : '';
    const message = `lost its worker ${losses} times and was given up${mayBe}`;
    this.reports.setError(task, { outcome: { ...LOST, errorMessage: message }, worker });
    return false;
  }

  /**
   * The current attempt could not be started. Where that may be the worker's fault, other workers are tried; when several
   * say the same it is the task's.
   *
   * @param workers how many there are in the cluster
   * @returns what came of the attempt: `lost` while it costs the task nothing
   */
  judgeStart(task: number, outcome: Outcome, worker: string, workers: number): Outcome {
    if (startFault(outcome) !== 'unclear') return outcome;
    this.#startFaults ??= new StartFaults();
    const hasCompleted = this.#counts[TaskState.completed]! > 0;
    const isTasks = this.#startFaults.isTasks(task, outcome.errorMessage, worker, workers, hasCompleted);
    return isTasks ? { ...outcome, kind: 'failed' } : outcome;
  }

  /** The current attempt came to nothing, and says nothing of the task. */
  attemptExcused(task: number, outcome: Outcome, worker: string, runMs: Millis, now: Millis): void {
    this.#noteSetback(task, outcome, worker, runMs, now);
    if (startFault(outcome) === undefined) {
      this.attemptsLost++;
      return;
    }
    // It has not started: it was none.
    this.attemptsTotal--;
    this.#failedStarts++;
    this.#blamed().failed(task, this.workerOf(task), now);
  }

  /** The task's current attempt has come to nothing. */
  #noteSetback(task: number, outcome: Outcome, worker: string, runMs: Millis, now: Millis): void {
    this.wastedMs += runMs;
    this.reports.noteSetback({
      task,
      attempt: this.attempts[task]!,
      state: outcome.kind,
      worker,
      startedMs: now - runMs - this.acceptedAt,
      runMs,
      code: outcome.errorCode,
      message: outcome.errorMessage,
      exitCode: outcome.exitCode,
      signal: outcome.signal,
    });
  }

  checkInvariants(): void {
    checkJob(this, this.#counts);
  }
}

/** Counts one more of the task. @returns how many there are */
function countedUp(counts: Map<number, number>, task: number): number {
  const count = (counts.get(task) ?? 0) + 1;
  counts.set(task, count);
  return count;
}

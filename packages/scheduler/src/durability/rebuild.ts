import {
  type Address,
  type AttemptNumber,
  isOwnersEnd,
  type JobNumber,
  type JobRecord,
  type JobRecordOf,
  type Millis,
  NOBODY,
  type TaskIndex,
} from '@goshawk/core';
import type { JournalEntry } from '../contract.js';
import { arrivingJobOf } from '../job/arriving.js';
import { Hold, holdOf } from '../job/hold.js';
import { Job, TaskState } from '../job/job.js';
import { countAttempt } from '../job/job-usage.js';
import { classifyEnd } from '../job/outcomes.js';
import { findReopening } from '../job/reopening.js';
import type { Accounting } from './accounting.js';

/** Receives a job in the state of its last record. */
type OnRebuilt = (job: Job) => void;

/** Number of tasks that take as long to process as one record. */
const TASKS_PER_RECORD = 50;

/** Inputs of rebuilding a job besides its records. */
export interface RebuildContext {
  /** Wall clock minus the machine's clock. */
  readonly wallOffsetMs: Millis;
  readonly now: Millis;
  /** See `SchedulerConfig`. */
  readonly hasPrivateNames: boolean;
  idOf(job: JobNumber): string;
  /** A placeholder for a worker known only by name. */
  placeholderFor(worker: string): Address;
  /** Whether there is too little memory to keep optional data. */
  isMemoryScarce(): boolean;
  /** Takes the usage of the jobs; absent: they were counted before. */
  readonly accounting?: Accounting | undefined;
}

/**
 * Rebuilds jobs from records. Tasks that were running become waiting until their workers report them. Attempt numbers
 * of unfinished tasks skip attempts that may have started without a record.
 *
 * Processes one record at a time, because all records may exceed the memory.
 *
 * @param entries by job, each starting with its acceptance; may include forgotten jobs
 * @returns steps, each with a cost in records
 */
export function* rebuildJobs(
  entries: Iterable<JournalEntry>,
  context: RebuildContext,
  rebuilt: OnRebuilt,
): Iterable<number> {
  let rebuild: JobRebuilder | undefined;
  for (const [place, record] of entries) {
    let work = 1;
    if (record.job !== rebuild?.job.number) {
      rebuild?.finish(rebuilt);
      rebuild = undefined;
    }
    if (record.kind === 'accepted') {
      rebuild ??= new JobRebuilder(record, context);
      work += rebuild.job.taskCount / TASKS_PER_RECORD;
    } else if (record.kind === 'forgotten') rebuild = undefined;
    else rebuild?.apply(record, place);
    yield work;
  }
  rebuild?.finish(rebuilt);
}

/** Rebuilds an ended job from its records; undefined if they do not contain its end. */
export function rebuildEndedJob(entries: Iterable<JournalEntry>, context: RebuildContext): Job | undefined {
  let rebuilt: Job | undefined;
  const steps = rebuildJobs(entries, context, (job) => {
    rebuilt = job;
  });
  for (const _ of steps);
  return rebuilt?.hasEnded ? rebuilt : undefined;
}

class JobRebuilder {
  readonly job: Job;
  readonly #context: RebuildContext;

  constructor(accepted: JobRecordOf<'accepted'>, context: RebuildContext) {
    this.#context = context;
    const { key, spec, class: jobClass, classifiedBy: by, route, stagesMs, project } = accepted;
    this.job = new Job({
      number: accepted.job,
      id: context.idOf(accepted.job),
      key,
      spec,
      project,
      arriving: arrivingJobOf(spec, accepted.at, context.hasPrivateNames),
      prediction: { kind: 'unknown' },
      decision: {
        class: jobClass,
        by,
        estimateMs: spec.estimateMs,
        guessMs: undefined,
        stagesMs,
        route,
        lane: 'normal',
      },
      acceptedAt: this.#machineTime(accepted.at),
      hold: holdOf(spec, this.#machineTime(accepted.at), accepted.at),
    });
    this.job.history.reports.dropsOptional = context.isMemoryScarce();
    this.job.tasks.trackUsedAttempts();
    if (!this.job.hasPendingPredecessors) this.#release();
  }

  #release(): void {
    const { job } = this;
    for (const stage of job.stages) if (stage.blockers === 0) job.release(stage, job.eligibleAt);
  }

  apply(record: JobRecord, place: number | undefined): void {
    switch (record.kind) {
      case 'classified':
        return this.#classified(record);
      case 'attempt':
        return this.#attemptEnded(record, place);
      case 'cancelled':
        this.job.cancelling = true;
        this.job.cancelReason = record.reason;
        return;
      case 'passed':
        return this.#predecessorEnded(record);
      case 'updated':
        return this.#updated(record);
      case 'appended':
        return this.#appended(record);
      case 'tasksCancelled':
        this.job.cancelTasks(record.tasks);
        return;
      case 'ended':
        this.job.endedAt = this.#machineTime(record.at);
        this.#context.accounting?.loadEnded(this.job.usage, record.period);
        this.job.usage = [];
        return;
      case 'retried':
        return this.#retried(record);
      case 'declined':
        return this.#attemptUsed(record.task, record.attempt);
      case 'resumed':
        return this.#reserveAttempts();
      case 'accepted':
      case 'forgotten':
      case 'schedulers':
      case 'usage':
        return;
    }
  }

  #appended({ first, tasks, digest, close }: JobRecordOf<'appended'>): void {
    const { job } = this;
    if (!job.isOpen || first !== job.taskCount) return;
    job.append(tasks);
    job.markDurable(job.taskCount);
    job.digest = digest;
    job.isOpen = !close;
  }

  #predecessorEnded({ after, at }: JobRecordOf<'passed'>): void {
    const { job } = this;
    if (!job.pendingPredecessors.delete(after) || job.pendingPredecessors.size > 0) return;
    job.predecessorsEnded(this.#machineTime(at));
    this.#release();
  }

  #updated({ held, beginAt, priority, at }: JobRecordOf<'updated'>): void {
    const { job } = this;
    const now = this.#machineTime(at);
    job.priority = priority;
    if (job.hold === undefined) job.hold = new Hold(held, beginAt, now);
    else if (job.hold.update(held, beginAt, now)) job.released(now);
  }

  /** The last classification counts. */
  #classified(record: JobRecordOf<'classified'>): void {
    const { class: jobClass, classifiedBy: by, route, estimateMs = this.job.spec.estimateMs } = record;
    // The first record contains the time of the pilots' decision; later ones only update run times.
    this.job.classifiedAt ??= this.#machineTime(record.at);
    this.job.restoreDecision({ class: jobClass, by, route, estimateMs, stagesMs: record.stagesMs });
  }

  #attemptEnded(
    { task, attempt, outcome, worker, runMs, at }: JobRecordOf<'attempt'>,
    place: number | undefined,
  ): void {
    const { job } = this;
    if (task >= job.taskCount || job.tasks.isFinal(task)) return;
    const now = this.#machineTime(at);
    const startedAt = now - runMs;
    this.#attemptUsed(task, attempt);
    if (!isOwnersEnd(outcome) || runMs > 0) {
      job.history.countAttempt(task);
      job.startedAt(startedAt);
    }
    if (this.#context.accounting !== undefined)
      countAttempt(job, task, outcome, runMs, now, this.#context.wallOffsetMs);
    const how = classifyEnd(outcome, job.isCancelling(task));
    const state = job.attemptEnded({ task, outcome, runMs, position: place }, how, worker, now);
    if (state === TaskState.waiting) {
      const restMs = how === 'failed' ? job.backoffMsOf(task) : 0;
      if (restMs > 0) job.backOff(task, now + restMs);
      return;
    }
    job.tasks.setTimes(task, startedAt, runMs);
    job.tasks.setWorker(task, this.#context.placeholderFor(worker));
    job.setState(task, state);
    const stage = job.dag.stageOf(task);
    if (stage.unfinished === 0) for (const next of job.stageEnded(stage)) job.release(next, now);
  }

  /** Recomputes from the selection and the tasks' states which tasks run again, as when the retry was accepted. */
  #retried({ choice, key, at }: JobRecordOf<'retried'>): void {
    const { job } = this;
    if (!job.hasEnded) return;
    this.#endUnstartable();
    const reopening = findReopening(job.dag, job.tasks, choice);
    if ('stage' in reopening || reopening.count === 0) return;
    job.reopen(reopening, key, this.#machineTime(at));
    if (!job.hasPendingPredecessors) this.#release();
  }

  finish(rebuilt: OnRebuilt): void {
    this.#endUnstartable();
    this.job.isRecovering = !this.job.hasEnded;
    this.#context.accounting?.loadActive(this.job.usage);
    rebuilt(this.job);
  }

  /** Ensures that a cancelled or ended job is not started again. */
  #endUnstartable(): void {
    const { job } = this;
    // Done before tasks become final: a retry skips attempt numbers that cancelled tasks may have used.
    this.#reserveAttempts();
    if (job.cancelling || job.hasEnded) return job.cancelWaiting();
    for (let task = 0; task < job.taskCount; task++)
      if (!job.tasks.isFinal(task)) job.tasks.setWorker(task, NOBODY);
    if (job.hasCancelledTasks) this.#endCancelled();
  }

  /** Tasks that were cancelled individually are not started again, nor are the stages after them. */
  #endCancelled(): void {
    const { job } = this;
    for (let task = 0; task < job.taskCount; task++) {
      if (job.tasks.isFinal(task) || !job.isCancelling(task)) continue;
      job.setState(task, TaskState.cancelled);
      const stage = job.dag.stageOf(task);
      if (stage.unfinished === 0) job.stageEnded(stage);
    }
  }

  #attemptUsed(task: TaskIndex, attempt: AttemptNumber): void {
    if (task >= this.job.taskCount) return;
    const { tasks } = this.job;
    tasks.setAttempt(task, Math.max(tasks.attemptOf(task), attempt));
    tasks.setLastUsedAttempt(task, Math.max(tasks.lastUsedAttemptOf(task), attempt));
  }

  /** The previous incarnation may have started one more attempt of each task than it recorded. */
  #reserveAttempts(): void {
    const { tasks } = this.job;
    for (let task = 0; task < tasks.count; task++)
      if (!tasks.isFinal(task)) tasks.setLastUsedAttempt(task, tasks.lastUsedAttemptOf(task) + 1);
  }

  /** Another machine's clock may have been ahead, so recorded times are limited to the present. */
  #machineTime(at: Millis): Millis {
    return Math.min(at - this.#context.wallOffsetMs, this.#context.now);
  }
}

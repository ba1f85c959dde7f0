import {
  type Address,
  type AttemptNumber,
  isEndedByOwner,
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
import { Job } from '../job/job.js';
import { addAttempt } from '../job/job-usage.js';
import { classifyEnd } from '../job/outcomes.js';
import { findReopening } from '../job/reopening.js';
import { TaskState } from '../job/task-state.js';
import type { Accounting } from './accounting.js';

/** Called with each rebuilt job. */
type RebuiltCallback = (job: Job) => void;

/** Number of tasks that take as much time as one record. */
const TASKS_PER_RECORD = 50;

/**
 * Tasks of a job that may have run at the same time under an earlier incarnation. Each of them takes some memory even
 * after its end, because it does not complete at its first execution.
 */
const MAY_HAVE_RUN_MAX = 100_000;

/** Inputs for rebuilding jobs, besides their records. */
export interface RebuildContext {
  /** Wall clock minus the machine's clock. */
  readonly wallOffsetMs: Millis;
  readonly now: Millis;
  /** See `SchedulerConfig`. */
  readonly hasPrivateNames: boolean;
  idOf(job: JobNumber): string;
  /** Returns a placeholder address for a worker that is known only by name. */
  placeholderFor(worker: string): Address;
  /** Whether memory is too scarce to keep optional data. */
  isMemoryScarce(): boolean;
  /** Counts the usage of the jobs; absent: it was counted before. */
  readonly accounting?: Accounting | undefined;
}

/**
 * Rebuilds jobs from records. Tasks that were running wait until their workers report them. New attempts skip attempt
 * numbers that may have been used without a record.
 *
 * Processes one record at a time, because all records together may not fit into memory.
 *
 * @param entries records grouped by job, each group starting with the acceptance; may include deleted jobs
 * @returns the cost of each step, in records
 */
export function* rebuildJobs(
  entries: Iterable<JournalEntry>,
  context: RebuildContext,
  rebuilt: RebuiltCallback,
): Iterable<number> {
  let rebuild: JobRebuilder | undefined;
  for (const [position, record] of withoutFutureJobs(entries, context.now + context.wallOffsetMs)) {
    let work = 1;
    if (record.job !== rebuild?.job.number) {
      rebuild?.finish(rebuilt);
      rebuild = undefined;
    }
    if (record.kind === 'accepted') {
      rebuild ??= new JobRebuilder(record, context);
      work += rebuild.job.taskCount / TASKS_PER_RECORD;
    } else if (record.kind === 'forgotten') rebuild = undefined;
    else rebuild?.apply(record, position);
    yield work;
  }
  rebuild?.finish(rebuilt);
}

/**
 * Yields all records. Moves jobs that were accepted after `latest`, by a clock that was ahead, to the time before it,
 * so that their waiting and run times stay the same.
 */
function* withoutFutureJobs(entries: Iterable<JournalEntry>, latest: Millis): Iterable<JournalEntry> {
  let future: JournalEntry[] = [];
  for (const entry of entries) {
    const [, record] = entry;
    if (future.length > 0 && future[0]![1].job !== record.job) {
      yield* movedBefore(future, latest);
      future = [];
    }
    if (future.length > 0 || (record.kind === 'accepted' && record.at > latest)) future.push(entry);
    else yield entry;
  }
  yield* movedBefore(future, latest);
}

function* movedBefore(entries: readonly JournalEntry[], latest: Millis): Iterable<JournalEntry> {
  const last = entries.reduce((until, [, { at }]) => Math.max(until, at), latest);
  for (const [position, record] of entries)
    yield [position, { ...record, at: record.at - (last - latest) } as JobRecord];
}

/** Rebuilds an ended job from its records; undefined if its end is not among them. */
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
    if (context.isMemoryScarce()) this.job.history.reports.dropsOptional = true;
    this.job.tasks.trackUsedAttempts();
    if (!this.job.hasPendingPredecessors) this.#release();
  }

  #release(): void {
    const { job } = this;
    for (const stage of job.stages) if (stage.blockers === 0) job.release(stage, job.times.eligibleAt);
  }

  apply(record: JobRecord, position: number | undefined): void {
    switch (record.kind) {
      case 'classified':
        return this.#classified(record);
      case 'attempt':
        return this.#attemptEnded(record, position);
      case 'cancelled':
        this.job.cancellation = { reason: record.reason };
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
        this.job.end(this.#machineTime(record.at));
        this.#context.accounting?.loadEnded(this.job.usage, record.period);
        this.job.usage = [];
        return;
      case 'notified':
        // The reports of two ends may be confirmed in either order.
        this.job.ends.notified = Math.max(this.job.ends.notified, record.ends);
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

  #appended({ first, tasks, digest, close, at }: JobRecordOf<'appended'>): void {
    const { job } = this;
    if (!job.isOpen || first !== job.taskCount) return;
    job.append(tasks);
    job.markDurable(job.taskCount);
    job.client.digest = digest;
    job.client.isOpen = !close;
    job.times.progressed(this.#machineTime(at));
  }

  #predecessorEnded({ after, at }: JobRecordOf<'passed'>): void {
    const { job } = this;
    if (!job.predecessors.pending.delete(after) || job.predecessors.pending.size > 0) return;
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

  /** The last classification is the valid one. */
  #classified(record: JobRecordOf<'classified'>): void {
    const { class: jobClass, classifiedBy: by, route, estimateMs = this.job.spec.estimateMs } = record;
    // The first record has the time of the classification; later records only update estimates.
    this.job.times.classifiedAt ??= this.#machineTime(record.at);
    this.job.estimate.restore({ class: jobClass, by, route, estimateMs, stagesMs: record.stagesMs });
  }

  #attemptEnded(
    { task, attempt, outcome, worker, runMs, at }: JobRecordOf<'attempt'>,
    position: number | undefined,
  ): void {
    const { job } = this;
    if (task >= job.taskCount || job.tasks.isFinal(task)) return;
    const now = this.#machineTime(at);
    const startedAt = now - runMs;
    const lastUsed = job.tasks.lastUsedAttemptOf(task);
    this.#attemptUsed(task, attempt);
    if (!isEndedByOwner(outcome) || runMs > 0) {
      job.history.countAttempt(task);
      job.history.skipUsedNumber(task, attempt, lastUsed);
      job.times.started(startedAt);
    }
    if (this.#context.accounting !== undefined)
      addAttempt(job, { task, outcome, runMs }, now, this.#context.wallOffsetMs);
    const how = classifyEnd(outcome, job.isCancelling(task));
    if (runMs > 0 && how !== 'excused') job.times.ran(startedAt);
    const state = job.attemptEnded({ task, outcome, runMs, position }, how, worker, now);
    if (state === TaskState.waiting) {
      const restMs = job.backoffMsOf(task, how);
      if (restMs > 0) job.backOff(task, now + restMs);
      return;
    }
    job.tasks.setTimes(task, startedAt, runMs);
    job.tasks.setWorker(task, this.#context.placeholderFor(worker));
    job.setState(task, state);
    const stage = job.dag.stageOf(task);
    if (stage.unfinished === 0) for (const next of job.stageEnded(stage)) job.release(next, now);
  }

  /** Finds the tasks that run again from the selection and the states, as when the retry was accepted. */
  #retried({ choice, key, at }: JobRecordOf<'retried'>): void {
    const { job } = this;
    if (!job.hasEnded) return;
    this.#endUnstartable();
    const reopening = findReopening(job.dag, job.tasks, choice);
    if ('stage' in reopening || reopening.count === 0) return;
    job.reopen(reopening, key, choice, this.#machineTime(at));
    if (!job.hasPendingPredecessors) this.#release();
  }

  finish(rebuilt: RebuiltCallback): void {
    this.#endUnstartable();
    this.job.recovering();
    this.#context.accounting?.loadActive(this.job.usage);
    rebuilt(this.job);
  }

  /** Cancels the tasks that must not start again. */
  #endUnstartable(): void {
    const { job } = this;
    // First, because a later retry must skip attempt numbers that cancelled tasks may have used.
    this.#reserveAttempts();
    if (job.cancelling || job.hasEnded) return job.cancelWaiting();
    for (let task = 0; task < job.taskCount; task++)
      if (!job.tasks.isFinal(task)) job.tasks.setWorker(task, NOBODY);
    if (job.hasCancelledTasks) this.#endCancelled();
  }

  /** Cancels tasks that were cancelled individually, and the stages that depend on them. */
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

  /** Reserves one attempt number per task: the previous incarnation may have started an attempt without a record. */
  #reserveAttempts(): void {
    const { tasks } = this.job;
    let unfinished = 0;
    tasks.mayHaveRunBelow = 0;
    for (let task = 0; task < tasks.count; task++) {
      if (tasks.isFinal(task)) continue;
      tasks.setLastUsedAttempt(task, tasks.nextAttemptOf(task));
      // Tasks start in order of their index.
      if (unfinished++ < MAY_HAVE_RUN_MAX) tasks.mayHaveRunBelow = task + 1;
    }
  }

  /** Converts a recorded time to the clock of this machine. The clock that recorded it may have been ahead. */
  #machineTime(at: Millis): Millis {
    return Math.min(at - this.#context.wallOffsetMs, this.#context.now);
  }
}

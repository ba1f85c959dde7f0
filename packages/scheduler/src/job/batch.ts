import {
  countTasks,
  type JobSpec,
  type Lane,
  type MessageOf,
  type Millis,
  type Payload,
  type Scope,
  type StageIndex,
  type StageSpec,
  type TaskIndex,
} from '@goshawk/core';
import { Gang } from './gang.js';
import { heapBytes } from './heap-bytes.js';
import { ARCHIVED_TASK_BYTES, TASK_BYTES } from './job-bytes.js';
import { ProbeLedger } from './probe-ledger.js';

/**
 * Tasks that share one search for workers: those of a stage, the pilots of a job, or the tasks of a stage that are not
 * pilots. Messages identify a batch by its index.
 */
export abstract class Batch {
  readonly index: StageIndex;
  readonly spec: StageSpec;
  /** Lane of its probes in the queues of workers. */
  readonly lane: Lane;
  /** Workers that it may probe; undefined: those of the job's route. */
  readonly scope: Scope | undefined;
  /** Multiplies the policy's number of probes. */
  readonly probeFactor: number;
  /** Number of its tasks in state `waiting`. */
  abstract readonly waiting: number;
  /** The stage to which its tasks belong. */
  abstract readonly stage: Stage;
  /** Outstanding probes by worker. */
  readonly probes = new ProbeLedger();
  /** Whether its probes were cancelled. Messages in flight about them must then not change `probes`. */
  areProbesCancelled = false;
  /** Number of probes returned since the last sweep. */
  returnedProbes = 0;
  /** Whether more probes were sent because nothing was heard of the first ones. */
  hasExtraProbes = false;
  /** Time since which `probes.changeCount` equals `changes`, and the pause after which to probe again. */
  silence: { readonly changes: number; readonly since: Millis; readonly pauseMs: Millis } | undefined;
  /** Number of workers requested by the last `need` message, less those received since. */
  needSent = 0;
  /** When it was sent. */
  needSentAt: Millis = 0;
  /** Interval at which an unchanged need is repeated, in milliseconds. It grows. 0: not repeated yet. */
  needRepeatMs: Millis = 0;
  /** When tasks that had run began to wait again, after a time in which none waited. 0: never. */
  requeuedAt: Millis = 0;
  /** Number of workers that central has matched with the batch so far. */
  matches = 0;

  constructor(index: StageIndex, spec: StageSpec, lane: Lane, scope?: Scope, probeFactor = 1) {
    this.index = index;
    this.spec = spec;
    this.lane = lane;
    this.scope = scope;
    this.probeFactor = probeFactor;
  }

  /** Records how many waiting tasks a `need` has reported to central. */
  needReported(tasks: number, now: Millis): void {
    this.needSent = tasks;
    this.needSentAt = now;
    this.needRepeatMs = 0;
  }

  /** Records that central has found a worker for one of the reported tasks. */
  needAnswered(now: Millis): void {
    this.needReported(Math.max(0, this.needSent - 1), now);
  }

  /** Records that central has matched a worker with the batch. */
  matchArrived(now: Millis): void {
    this.matches++;
    this.needAnswered(now);
  }

  /** The batch that stores the `waiting` count: its stage if it is a `NonPilotBatch`, otherwise the batch itself. */
  get countingBatch(): Batch {
    return this;
  }
}

/** A stage of a job. It is the batch of batch probing (Sparrow): one search finds workers for all its tasks. */
export class Stage extends Batch {
  /** Its tasks are `first` to `first + count - 1`. */
  readonly first: number;
  count: number;
  /** Number of tasks that are durable. Others must not be assigned, because a crash would free their indexes. */
  durableCount: number;
  /** When its tasks became eligible. Until then, when the job was accepted or last retried. */
  releasedAt: Millis;
  /** Number of preceding stages that have not completed. Infinity: no task of the stage is left to run. */
  blockers: number;
  /** Number of tasks without a final state. */
  unfinished: number;
  override waiting = 0;
  /** The first task that was never taken. Earlier tasks that wait again are in `requeued`. */
  nextUntaken: number;
  /** Tasks that wait again after an attempt. */
  requeued: number[] = [];
  /** Payloads of appended tasks that have not completed, by index in the stage. Created on demand. */
  #appended: Map<number, Payload> | undefined;
  /** Payload without input of a completed task. Stands for the dropped payloads of all completed tasks. */
  #lastCompletedPayload: Work | undefined;
  /** Number of tasks in the submission. */
  readonly #specifiedCount: number;
  /** Estimated memory of the appended tasks. */
  appendedBytes = 0;
  /** Return values of earlier stages, until all tasks have ended. Set on first use. */
  inputs: MessageOf<'run'>['inputs'];
  /** undefined: the tasks start individually. */
  readonly gang: Gang | undefined;

  constructor(index: StageIndex, spec: StageSpec, lane: Lane, first: number, acceptedAt: Millis) {
    super(index, spec, lane);
    this.first = first;
    this.count = countTasks(spec.tasks);
    this.releasedAt = acceptedAt;
    this.blockers = spec.after.length;
    this.unfinished = this.count;
    this.#specifiedCount = this.count;
    this.durableCount = this.count;
    this.nextUntaken = first;
    this.gang = spec.gang === true ? new Gang() : undefined;
  }

  append(payloads: readonly Payload[]): void {
    for (const [at, payload] of payloads.entries()) this.#addAppended(this.count + at, payload);
    this.count += payloads.length;
    this.unfinished += payloads.length;
  }

  /** Copies the tasks that were appended to this stage before a retry of the job. */
  copyAppended(before: Stage): void {
    for (const [at, payload] of before.#appended ?? []) this.#addAppended(at, payload);
    this.appendedBytes = before.appendedBytes;
    this.#lastCompletedPayload = before.#lastCompletedPayload;
    this.unfinished += before.count - this.count;
    this.count = before.count;
    this.durableCount = this.count;
  }

  #addAppended(at: number, payload: Payload): void {
    this.#appended ??= new Map();
    this.#appended.set(at, payload);
    this.appendedBytes += TASK_BYTES + heapBytes(payload);
  }

  payloadOf(task: TaskIndex): Payload {
    const index = task - this.first;
    if (index >= this.#specifiedCount) return this.#appended?.get(index) ?? this.#lastCompletedPayload!;
    const { tasks } = this.spec;
    if ('count' in tasks) return tasks.run;
    return 'each' in tasks ? tasks.each[index]! : { sleep: tasks.sleepsMs[index]! };
  }

  /** Drops the payload of a completed task, which never runs again. */
  dropInput(task: TaskIndex): void {
    const index = task - this.first;
    const payload = this.#appended?.get(index);
    if (payload === undefined || 'sleep' in payload) return;
    if ('exec' in payload && payload.warm !== true) return;
    this.appendedBytes -= heapBytes(payload);
    this.#appended!.delete(index);
    const last = this.#lastCompletedPayload;
    if (last === undefined || !isSameWork(last, payload)) this.#lastCompletedPayload = withoutInput(payload);
  }

  /** Records that the state of this many tasks is now only in the journal. @returns bytes that this frees */
  archived(tasks: number): number {
    const bytes = tasks * (TASK_BYTES - ARCHIVED_TASK_BYTES);
    this.appendedBytes -= bytes;
    return bytes;
  }

  override get stage(): Stage {
    return this;
  }
}

/** Creates the stages of a job. */
export function stagesOf({ stages }: JobSpec, lane: Lane, acceptedAt: Millis): Stage[] {
  let first = 0;
  return stages.map((spec, index) => {
    const stage = new Stage(index, spec, lane, first, acceptedAt);
    first += stage.count;
    return stage;
  });
}

/** The pilots of a job. Until the job is classified, they do not count as tasks of their stage. */
export class PilotBatch extends Batch {
  override waiting = 0;
  /** Waiting pilots, and possibly pilots that have left the state `waiting`. */
  readonly queue: number[] = [];
  override readonly stage: Stage;

  constructor(index: StageIndex, stage: Stage, probeFactor: number) {
    super(index, stage.spec, 'express', undefined, probeFactor);
    this.stage = stage;
  }
}

/** The tasks of a stage that are not pilots, until the job is classified. */
export class NonPilotBatch extends Batch {
  override readonly stage: Stage;

  constructor(index: StageIndex, stage: Stage, scope: Scope) {
    super(index, stage.spec, 'normal', scope);
    this.stage = stage;
  }

  override get waiting(): number {
    return this.stage.waiting;
  }

  override get countingBatch(): Batch {
    return this.stage;
  }
}

/** A payload whose input varies from task to task of an open job. */
type Work = Exclude<Payload, { sleep: unknown }>;

function withoutInput(payload: Work): Work {
  if ('exec' in payload) {
    const { stdin: _, ...done } = payload;
    return done;
  }
  const { input: _, ...done } = payload;
  return done;
}

function isSameWork(one: Work, other: Work): boolean {
  if ('exec' in one) return 'exec' in other && one.exec.join('\0') === other.exec.join('\0');
  return 'module' in other && one.module === other.module && one.export === other.export;
}

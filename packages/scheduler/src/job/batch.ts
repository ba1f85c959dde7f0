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
 * Tasks that share one search for workers because the scheduler treats them alike: those of a stage (the batch of
 * batch probing), the pilots of a job, or what may run beside the pilots. Messages identify a batch by its index.
 */
export abstract class Batch {
  readonly index: StageIndex;
  readonly spec: StageSpec;
  /** Lane of its probes at workers. */
  readonly lane: Lane;
  /** Scope of its probes, if it differs from that of the job's class. */
  readonly scope: Scope | undefined;
  /** Multiplies the policy's number of probes. */
  readonly probeFactor: number;
  /** Number of its tasks in state `waiting`. */
  abstract readonly waiting: number;
  /** The stage of its tasks. */
  abstract readonly stage: Stage;
  /** Probes that no worker has served yet. */
  readonly probes = new ProbeLedger();
  /** All probes were cancelled; messages in flight about them say nothing about outstanding probes. */
  areProbesCancelled = false;
  /** Number of probes returned since the last sweep. */
  returnedProbes = 0;
  /** Whether more probes were sent than needed, because the first were silent. */
  hasExtraProbes = false;
  /** Since when its probes are silent (`changes` identifies their state), and how long that may last. */
  silence: { readonly changes: number; readonly since: Millis; readonly pauseMs: Millis } | undefined;
  /** Number of workers requested by the last `need`, less those received since, and when it was sent. */
  needSent = 0;
  needSentAt: Millis = 0;
  /** Interval at which an unchanged need is repeated; it grows. ms; 0: the need was sent once */
  needRepeatMs: Millis = 0;
  /** Number of workers that central has matched with the batch. */
  matches = 0;

  constructor(index: StageIndex, spec: StageSpec, lane: Lane, over?: Scope, probeFactor = 1) {
    this.index = index;
    this.spec = spec;
    this.lane = lane;
    this.scope = over;
    this.probeFactor = probeFactor;
  }

  /** The batch that counts its tasks: the stage for its early part, otherwise itself. */
  get countingBatch(): Batch {
    return this;
  }
}

/** A stage is the batch of batch probing (Sparrow): the scheduler treats its tasks alike. */
export class Stage extends Batch {
  /** Its tasks are first … first + count − 1. */
  readonly first: number;
  count: number;
  /** Number of durable tasks. Others must not be assigned: after a crash their indexes would be used again. */
  durableCount: number;
  /** When its tasks became eligible; for a job of an earlier incarnation, when the job was accepted. */
  releasedAt: Millis;
  /** Number of preceding stages that have not completed. Infinity: none of its tasks may run. */
  blockers: number;
  /** Number of tasks without a final state. */
  unfinished: number;
  override waiting = 0;
  /** The first task never taken from `waiting`; earlier ones that wait again are in `returned`. */
  nextNeverTaken: number;
  requeued: number[] = [];
  /** Payloads of appended tasks that may still run, by index in the stage: few at a time, even of a million tasks. */
  readonly #appended = new Map<number, Payload>();
  /** The payload of the task that completed last, without its input. It represents all dropped payloads. */
  #lastCompletedPayload: Extract<Payload, { module: string }> | undefined;
  readonly #specifiedCount: number;
  /** Their estimated memory. */
  appendedBytes = 0;
  /** Inputs from earlier stages, kept until all tasks have ended. */
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
    this.nextNeverTaken = first;
    this.gang = spec.gang === true ? new Gang() : undefined;
  }

  append(payloads: readonly Payload[]): void {
    for (const [at, payload] of payloads.entries()) this.#addAppended(this.count + at, payload);
    this.count += payloads.length;
    this.unfinished += payloads.length;
  }

  /** Takes tasks appended to the same stage before a retry. */
  copyAppended(before: Stage): void {
    for (const [at, payload] of before.#appended) this.#addAppended(at, payload);
    this.appendedBytes = before.appendedBytes;
    this.#lastCompletedPayload = before.#lastCompletedPayload;
    this.unfinished += before.count - this.count;
    this.count = before.count;
    this.durableCount = this.count;
  }

  #addAppended(at: number, payload: Payload): void {
    this.#appended.set(at, payload);
    this.appendedBytes += TASK_BYTES + heapBytes(payload);
  }

  payloadOf(task: TaskIndex): Payload {
    const at = task - this.first;
    if (at >= this.#specifiedCount) return this.#appended.get(at) ?? this.#lastCompletedPayload!;
    const { tasks } = this.spec;
    if ('count' in tasks) return tasks.run;
    return 'each' in tasks ? tasks.each[at]! : { sleep: tasks.sleepsMs[at]! };
  }

  /** A completed task never runs again, so its payload is dropped. */
  dropInput(task: TaskIndex): void {
    const at = task - this.first;
    const payload = this.#appended.get(at);
    if (payload === undefined || !('module' in payload)) return;
    this.appendedBytes -= heapBytes(payload);
    this.#appended.delete(at);
    const { input: _, ...done } = payload;
    if (
      this.#lastCompletedPayload?.module !== done.module ||
      this.#lastCompletedPayload.export !== done.export
    )
      this.#lastCompletedPayload = done;
  }

  /** Records that this many appended tasks are settled. @returns memory that this frees, in bytes */
  archived(tasks: number): number {
    const bytes = tasks * (TASK_BYTES - ARCHIVED_TASK_BYTES);
    this.appendedBytes -= bytes;
    return bytes;
  }

  override get stage(): Stage {
    return this;
  }
}

/** The stages of a job before its start. */
export function stagesOf({ stages }: JobSpec, lane: Lane, acceptedAt: Millis): Stage[] {
  let first = 0;
  return stages.map((spec, index) => {
    const stage = new Stage(index, spec, lane, first, acceptedAt);
    first += stage.count;
    return stage;
  });
}

/** The pilots. Until the job is classified, they do not count as tasks of their stage. */
export class PilotBatch extends Batch {
  override waiting = 0;
  /** Waiting pilots, possibly with some that no longer wait. */
  readonly queue: number[] = [];
  override readonly stage: Stage;

  constructor(index: StageIndex, stage: Stage, probeFactor: number) {
    super(index, stage.spec, 'express', undefined, probeFactor);
    this.stage = stage;
  }
}

/** Tasks of a stage other than pilots, until the job is classified. */
export class NonPilotBatch extends Batch {
  override readonly stage: Stage;

  constructor(index: StageIndex, stage: Stage, over: Scope) {
    super(index, stage.spec, 'normal', over);
    this.stage = stage;
  }

  override get waiting(): number {
    return this.stage.waiting;
  }

  override get countingBatch(): Batch {
    return this.stage;
  }
}

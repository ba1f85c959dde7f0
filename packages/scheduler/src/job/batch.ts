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
import { TASK_BYTES } from './job-bytes.js';
import { ProbeLedger } from './probe-ledger.js';

/**
 * Tasks that are looked for together, because to the scheduler they are alike: those of a stage (the batch of batch
 * probing), the pilots of a job, or what may run beside them. Its index names it in messages.
 */
export abstract class Batch {
  readonly index: StageIndex;
  readonly spec: StageSpec;
  /** Lane of its probes at workers. */
  readonly lane: Lane;
  /** Scope of its probes, if it differs from that of the job's class. */
  readonly over: Scope | undefined;
  /** Times so many probes are sent as the policy says. */
  readonly probeFactor: number;
  /** Its tasks in state `waiting`. */
  abstract readonly waiting: number;
  /** The stage that its tasks are of. */
  abstract readonly stage: Stage;
  /** Probes that no worker has served yet. */
  readonly probes = new ProbeLedger();
  /** All probes were taken back; news of them that was on its way says nothing about probes that are out. */
  recalled = false;
  /** So many have come back since the last sweep. */
  givenBack = 0;
  /** More were sent than it needs, since nothing was heard of the first. */
  probedAgain = false;
  /** Since when nothing was heard of its probes (`changes` of them are known), and how long that may last. */
  silence: { readonly changes: number; readonly since: Millis; readonly pauseMs: Millis } | undefined;
  /** How many workers the last `need` asked central for, less those that came since, and when it was sent. */
  needSent = 0;
  needSentAt: Millis = 0;
  /** After which it is sent again, unless it changes: longer each time. ms; 0: it has been sent once. */
  needPauseMs: Millis = 0;
  /** Workers that central has matched with the batch. */
  matches = 0;

  constructor(index: StageIndex, spec: StageSpec, lane: Lane, over?: Scope, probeFactor = 1) {
    this.index = index;
    this.spec = spec;
    this.lane = lane;
    this.over = over;
    this.probeFactor = probeFactor;
  }

  /** The batch whose tasks it gives: the stage for what of it may run early, any other for itself. */
  get own(): Batch {
    return this;
  }
}

/** A stage is the batch of batch probing (Sparrow): its tasks are alike to the scheduler. */
export class Stage extends Batch {
  /** Its tasks are first … first + count − 1. */
  readonly first: number;
  count: number;
  /** So many of them are on the disk, and may be given out: an index that is lost would be appended, and run, again. */
  written: number;
  /** When its tasks might start; of a job of an earlier incarnation, when that was accepted. */
  releasedAt: Millis;
  /** Stages before it that have not completed. Infinity: it has no task that may run. */
  blockers: number;
  /** Tasks that are neither completed, failed nor cancelled. */
  unfinished: number;
  override waiting = 0;
  /** The first task that was never taken from `waiting`; those before it that wait again are in `returned`. */
  nextFresh: number;
  readonly returned: number[] = [];
  /** Payloads of appended tasks, after those of the specification. */
  readonly #appended: Payload[] = [];
  readonly #specified: number;
  /** Their estimated memory. */
  appendedBytes = 0;
  /** Inputs from earlier stages, while some tasks are still to run. */
  inputs: MessageOf<'run'>['inputs'];
  /** Undefined where its tasks start one by one. */
  readonly gang: Gang | undefined;

  constructor(index: StageIndex, spec: StageSpec, lane: Lane, first: number, acceptedAt: Millis) {
    super(index, spec, lane);
    this.first = first;
    this.count = countTasks(spec.tasks);
    this.releasedAt = acceptedAt;
    this.blockers = spec.after.length;
    this.unfinished = this.count;
    this.#specified = this.count;
    this.written = this.count;
    this.nextFresh = first;
    this.gang = spec.gang === true ? new Gang() : undefined;
  }

  grow(payloads: readonly Payload[]): void {
    for (const payload of payloads) {
      this.#appended.push(payload);
      this.appendedBytes += appendedBytes(payload);
    }
    this.count += payloads.length;
    this.unfinished += payloads.length;
  }

  /** Takes tasks appended to the same stage before a retry. */
  takeAppended(before: Stage): void {
    this.grow(before.#appended);
    this.written = this.count;
  }

  payloadOf(task: TaskIndex): Payload {
    const at = task - this.first;
    if (at >= this.#specified) return this.#appended[at - this.#specified]!;
    const { tasks } = this.spec;
    if ('count' in tasks) return tasks.run;
    return 'each' in tasks ? tasks.each[at]! : { sleep: tasks.sleepsMs[at]! };
  }

  /** A task that has completed never runs again: what it was called with is dropped. */
  completed(task: TaskIndex): void {
    const at = task - this.first - this.#specified;
    if (at < 0 || !('module' in this.#appended[at]!)) return;
    this.appendedBytes -= appendedBytes(this.#appended[at]!) - appendedBytes(DROPPED);
    this.#appended[at] = DROPPED;
  }

  override get stage(): Stage {
    return this;
  }
}

const DROPPED: Payload = { module: '-' };

function appendedBytes(payload: Payload): number {
  return TASK_BYTES + heapBytes(payload);
}

/** The stages of a job, none of which has begun. */
export function stagesOf({ stages }: JobSpec, lane: Lane, acceptedAt: Millis): Stage[] {
  let first = 0;
  return stages.map((spec, index) => {
    const stage = new Stage(index, spec, lane, first, acceptedAt);
    first += stage.count;
    return stage;
  });
}

/** Tasks that run first. Until it is decided what the job is they are no tasks of their stage to who looks for workers. */
export class PilotBatch extends Batch {
  override waiting = 0;
  /** Those that wait, perhaps with others that do not any more. */
  readonly queue: number[] = [];
  override readonly stage: Stage;

  constructor(index: StageIndex, stage: Stage, probeFactor: number) {
    super(index, stage.spec, 'express', undefined, probeFactor);
    this.stage = stage;
  }
}

/** The tasks of a stage that are not pilots, while it is not decided whether they are long. */
export class RestBatch extends Batch {
  override readonly stage: Stage;

  constructor(index: StageIndex, stage: Stage, over: Scope) {
    super(index, stage.spec, 'normal', over);
    this.stage = stage;
  }

  override get waiting(): number {
    return this.stage.waiting;
  }

  override get own(): Batch {
    return this.stage;
  }
}

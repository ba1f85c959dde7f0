import type { Address, BatchPart, Millis, Segment, Vector } from '@goshawk/core';
import type { Attributes, JobView, RunView, StageView, WorkerView } from '../contract.js';

/** What an owner says of a job. What is left out stays as it was. */
export interface JobFacts {
  readonly arrivedAt: Millis;
  readonly user?: string;
  readonly weight?: number;
  readonly deadlineAt?: Millis;
  readonly value?: number;
  readonly prefers?: Attributes;
  readonly long?: boolean;
  readonly tasks?: number;
  /** The owner will withdraw it when it is over: until then it stays, whether anything of it waits or not. */
  readonly isDeclared?: boolean;
}

/** What an owner says of a stage. What is left out stays as it was. */
export interface StageFacts {
  readonly demand: Vector;
  readonly part?: BatchPart;
  readonly after?: readonly number[];
  readonly tasks?: number;
  readonly ended?: number;
  readonly estimateMs?: Millis;
  readonly estimateFollows?: boolean;
  readonly distribution?: readonly Segment[] | undefined;
}

export class BookedJob implements JobView {
  readonly id: number;
  readonly owner: Address;
  readonly number: number;
  readonly arrivedAt: Millis;
  user = '';
  weight = 1;
  deadlineAt: Millis = Number.POSITIVE_INFINITY;
  value = 0;
  prefers: Attributes = {};
  long = false;
  tasks = 0;
  readonly stages: BookedStage[] = [];
  readonly runs = new Set<BookedRun>();
  /** Slot time of the runs that ended. ms */
  attained: Millis = 0;
  withdrawn = false;
  #isDeclared = false;
  /** By index at the owner, pilots included. */
  readonly #byIndex = new Map<number, BookedStage>();

  constructor(id: number, owner: Address, number: number, facts: JobFacts) {
    this.id = id;
    this.owner = owner;
    this.number = number;
    this.arrivedAt = facts.arrivedAt;
    this.learn(facts);
  }

  get running(): number {
    return this.runs.size;
  }

  get allStages(): Iterable<BookedStage> {
    return this.#byIndex.values();
  }

  get isOver(): boolean {
    if (this.runs.size > 0 || (this.#isDeclared && !this.withdrawn)) return false;
    for (const stage of this.#byIndex.values()) if (stage.waiting > 0) return false;
    return true;
  }

  stageAt(index: number): BookedStage | undefined {
    return this.#byIndex.get(index);
  }

  addStage(id: number, index: number, facts: StageFacts): BookedStage {
    const stage = new BookedStage(id, this, index, facts);
    this.#byIndex.set(index, stage);
    if (stage.part !== 'pilots') {
      this.stages.push(stage);
      this.stages.sort((one, other) => one.index - other.index);
    }
    return stage;
  }

  attainedMs(now: Millis): Millis {
    let sum = this.attained;
    for (const run of this.runs) sum += now - run.startedAt;
    return sum;
  }

  /** @returns whether anything is new */
  learn(facts: JobFacts): boolean {
    const { user, weight, deadlineAt, value, long, tasks } = this;
    this.user = facts.user ?? user;
    this.weight = facts.weight ?? weight;
    this.deadlineAt = facts.deadlineAt ?? deadlineAt;
    this.value = facts.value ?? value;
    this.prefers = facts.prefers ?? this.prefers;
    this.long = facts.long ?? long;
    this.tasks = facts.tasks ?? tasks;
    this.#isDeclared ||= facts.isDeclared ?? false;
    return (
      user !== this.user ||
      weight !== this.weight ||
      deadlineAt !== this.deadlineAt ||
      value !== this.value ||
      long !== this.long ||
      tasks !== this.tasks
    );
  }
}

export class BookedStage implements StageView {
  readonly id: number;
  readonly job: BookedJob;
  readonly index: number;
  readonly demand: Vector;
  part: BatchPart = 'judged';
  after: readonly number[] = [];
  tasks = 0;
  ended = 0;
  waiting = 0;
  running = 0;
  estimateMs: Millis = 0;
  estimateFollows = false;
  distribution: readonly Segment[] | undefined;
  waitsSince: Millis = 0;
  /** Workers that its owner was told of. */
  matches = 0;
  /** News of it waits to be heard. */
  isTold = false;

  constructor(id: number, job: BookedJob, index: number, facts: StageFacts) {
    this.id = id;
    this.job = job;
    this.index = index;
    this.demand = facts.demand;
    this.learn(facts);
  }

  /** @returns whether anything is new */
  learn(facts: StageFacts): boolean {
    const { part, estimateMs, ended, tasks, distribution } = this;
    this.part = facts.part ?? part;
    this.after = facts.after ?? this.after;
    this.tasks = facts.tasks ?? tasks;
    this.ended = facts.ended ?? ended;
    this.estimateMs = facts.estimateMs ?? estimateMs;
    this.estimateFollows = facts.estimateFollows ?? this.estimateFollows;
    this.distribution = facts.distribution ?? distribution;
    return (
      part !== this.part ||
      estimateMs !== this.estimateMs ||
      ended !== this.ended ||
      tasks !== this.tasks ||
      distribution !== this.distribution
    );
  }
}

export class BookedWorker implements WorkerView {
  readonly id: number;
  readonly address: Address;
  readonly capacity: Vector;
  readonly attributes: Attributes;
  readonly free: number[];
  open = false;
  readonly runs = new Set<BookedRun>();
  /** Slots of the runs that the worker has confirmed. */
  confirmedSlots = 0;
  /** News that it has more room waits to be heard. */
  isFreedTold = false;

  constructor(id: number, address: Address, capacity: Vector, attributes: Attributes) {
    this.id = id;
    this.address = address;
    this.capacity = capacity;
    this.attributes = attributes;
    this.free = [...capacity];
  }
}

export class BookedRun implements RunView {
  readonly stage: BookedStage;
  readonly worker: BookedWorker;
  readonly startedAt: Millis;
  isConfirmed = false;
  /** Central's number of it at the worker; 0: none yet. */
  match = 0;
  /** When it was made, or its owner was last asked what became of it. */
  askedAt: Millis;
  /** Its end was asked for by the policy. */
  isPreempted = false;

  constructor(stage: BookedStage, worker: BookedWorker, startedAt: Millis) {
    this.stage = stage;
    this.worker = worker;
    this.startedAt = startedAt;
    this.askedAt = startedAt;
  }
}

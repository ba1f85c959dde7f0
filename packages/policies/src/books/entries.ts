import {
  type Address,
  addVector,
  type BatchPart,
  Deque,
  GPU,
  Gpus,
  type JobNumber,
  type Millis,
  type Priority,
  type Segment,
  type StageIndex,
  type TaskAttempt,
  type TaskIndex,
  unitsOf,
  type Vector,
} from '@goshawk/core';
import type { Attributes, JobView, RunView, StageView, WorkerView } from '../contract.js';

/** An owner's facts about a job. Omitted fields stay unchanged. */
export interface JobFacts {
  readonly arrivedAt: Millis;
  /** The arrival is when central first saw the job; its owner has not reported it yet. */
  readonly isArrivalGuessed?: boolean;
  readonly user?: string;
  readonly weight?: number;
  readonly userWeight?: number;
  readonly preemptible?: boolean;
  readonly deadlineAt?: Millis;
  readonly value?: number;
  readonly prefers?: Attributes;
  readonly long?: boolean;
  readonly priority?: Priority;
  readonly tasks?: number;
  /** Slot time of the attempts that ended, before these books heard of any. ms */
  readonly attainedMs?: Millis;
  readonly isDeclared?: boolean;
}

/** An owner's facts about a stage. Omitted fields stay unchanged. */
export interface StageFacts {
  readonly demand: Vector;
  readonly part?: BatchPart;
  readonly after?: readonly number[];
  readonly tasks?: number;
  readonly ended?: number;
  readonly estimateMs?: Millis;
  readonly estimateFollows?: boolean;
  readonly distribution?: readonly Segment[] | undefined;
  readonly requires?: Attributes | undefined;
  readonly gang?: boolean;
}

export class BookedJob implements JobView {
  readonly id: number;
  /** Its present incarnation. */
  owner: Address;
  readonly number: JobNumber;
  arrivedAt: Millis;
  user = '';
  weight = 1;
  userWeight = 1;
  preemptible = false;
  deadlineAt: Millis = Number.POSITIVE_INFINITY;
  value = 0;
  prefers: Attributes = {};
  long = false;
  priority: Priority = 'normal';
  tasks = 0;
  readonly stages: BookedStage[] = [];
  readonly runs = new Set<BookedRun>();
  /** Those of tasks that the owner has named, by task. */
  #named: Map<number, BookedRun> | undefined;
  /** Slot time of the runs that ended. ms */
  attained: Millis = 0;
  /** Its owner will withdraw it when it is over: until then it stays, whether anything of it waits or not. */
  isDeclared = false;
  /** When and where the policy expects it to start. */
  expected: { readonly at: Millis; readonly where: string | undefined } | undefined;
  #isArrivalGuessed = true;
  #isAttainedSaid = false;
  /** By index at the owner, pilots included. */
  readonly #byIndex = new Map<number, BookedStage>();

  constructor(id: number, owner: Address, number: JobNumber, facts: JobFacts) {
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
    if (this.runs.size > 0 || this.isDeclared) return false;
    for (const stage of this.#byIndex.values()) if (stage.waiting + stage.held > 0) return false;
    return true;
  }

  stageAt(index: StageIndex): BookedStage | undefined {
    return this.#byIndex.get(index);
  }

  addStage(id: number, index: StageIndex, facts: StageFacts): BookedStage {
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
    for (const run of this.runs) if (!run.isQueued) sum += now - run.startedAt;
    return sum;
  }

  /** The run of a task that its owner has named. */
  runOf(task: TaskIndex): BookedRun | undefined {
    return this.#named?.get(task);
  }

  addRun(run: BookedRun): void {
    this.runs.add(run);
    if (run.named === undefined) return;
    this.#named ??= new Map();
    this.#named.set(run.named.task, run);
  }

  removeRun(run: BookedRun): void {
    this.runs.delete(run);
    if (run.named !== undefined && this.runOf(run.named.task) === run) this.#named!.delete(run.named.task);
  }

  /** @returns whether anything is new */
  learn(facts: JobFacts): boolean {
    let isNew = takeSaid<JobSaid>(this, facts, JOB_NEWS);
    takeSaid<JobSaid>(this, facts, JOB_REST);
    this.isDeclared ||= facts.isDeclared ?? false;
    if (this.#isArrivalGuessed && facts.isArrivalGuessed !== true) {
      isNew ||= this.arrivedAt !== facts.arrivedAt;
      this.arrivedAt = facts.arrivedAt;
      this.#isArrivalGuessed = false;
    }
    // Counted here from then on: later reports of the owner may include ends that central has not heard of
    // yet.
    if (!this.#isAttainedSaid && facts.attainedMs !== undefined) {
      this.attained = Math.max(this.attained, facts.attainedMs);
      this.#isAttainedSaid = true;
    }
    return isNew;
  }
}

export class BookedStage implements StageView {
  readonly id: number;
  readonly job: BookedJob;
  readonly index: StageIndex;
  readonly demand: Vector;
  part: BatchPart = 'judged';
  after: readonly number[] = [];
  tasks = 0;
  ended = 0;
  waiting = 0;
  /** Tasks that could start, and that a limit of their user keeps from the policy. */
  held = 0;
  /** The limit that does. */
  heldBy: string | undefined;
  running = 0;
  estimateMs: Millis = 0;
  estimateFollows = false;
  distribution: readonly Segment[] | undefined;
  requires: Attributes | undefined;
  gang = false;
  /** And when it was declined. */
  declinedBy: Map<WorkerView, Millis> | undefined;
  /** Workers in `declinedBy` because the owner's last need avoids them. */
  avoided: readonly WorkerView[] = [];
  waitsSince: Millis = 0;
  /** Workers that its owner has been sent. */
  matches = 0;
  /** News of it waits to be heard. */
  isInNews = false;
  /** Attempts of the tasks that its owner has named, and that have no worker. */
  #attempts: Map<number, number> | undefined;
  /** The same tasks in order of arrival, and some that wait no more. */
  #order: Deque<number> | undefined;

  constructor(id: number, job: BookedJob, index: StageIndex, facts: StageFacts) {
    this.id = id;
    this.job = job;
    this.index = index;
    this.demand = facts.demand;
    this.learn(facts);
  }

  /** Tasks that wait and are named. */
  get named(): number {
    return this.#attempts?.size ?? 0;
  }

  /** A task that is named already keeps its place, with its latest attempt. @returns whether it is another one */
  name({ task, attempt }: TaskAttempt): boolean {
    this.#attempts ??= new Map();
    this.#order ??= new Deque();
    const known = this.#attempts.get(task);
    if (known === undefined) this.#order.push(task);
    this.#attempts.set(task, Math.max(attempt, known ?? 0));
    return known === undefined;
  }

  /** The next task that is named; undefined where none is. */
  takeNamed(): TaskAttempt | undefined {
    if (this.#attempts === undefined) return undefined;
    for (let task = this.#order!.shift(); task !== undefined; task = this.#order!.shift()) {
      const attempt = this.#attempts.get(task);
      if (attempt !== undefined && this.#attempts.delete(task)) return { task, attempt };
    }
    return undefined;
  }

  /** The attempt under which a named task waits; undefined where it does not. */
  waitingAttempt(task: TaskIndex): number | undefined {
    return this.#attempts?.get(task);
  }

  /** A named task waits no more. */
  unname(task: TaskIndex): void {
    this.#attempts?.delete(task);
  }

  forgetNamed(): void {
    this.#attempts = undefined;
    this.#order = undefined;
  }

  /** @returns whether anything is new */
  learn(facts: StageFacts): boolean {
    const { distribution, requires } = this;
    const isNew = takeSaid<StageSaid>(this, facts, STAGE_NEWS);
    takeSaid<StageSaid>(this, facts, STAGE_REST);
    // Said again it is another list of the same segments.
    if (!isSame(facts.distribution, distribution)) this.distribution = facts.distribution ?? distribution;
    // They never change, and may be heard late: of a run that was found nobody says them.
    this.requires ??= facts.requires;
    return isNew || distribution !== this.distribution || requires !== this.requires;
  }
}

/** Leaves room for more numbers than a worker can ever be given. */
const MATCH_MAX = 2 ** 52;

export class BookedWorker implements WorkerView {
  readonly id: number;
  readonly address: Address;
  readonly capacity: Vector;
  readonly attributes: Attributes;
  readonly free: number[];
  /** Undefined where it has none. Their index in vectors. */
  readonly #gpus: Gpus<BookedRun> | undefined;
  readonly #gpuAt: number;
  open = false;
  readonly runs: BookedRun[] = [];
  /** Slots of the runs that the worker has confirmed. */
  confirmedSlots = 0;
  /** News that it has more room waits to be heard. */
  isFreedInNews = false;
  /** That news, which is the same each time. */
  readonly freed: { readonly kind: 'freed'; readonly worker: WorkerView } = { kind: 'freed', worker: this };
  /** Number of its last match. */
  match = 0;
  /** Its bit in the message `occupied`. */
  bit = 0;

  /** @param gpuAt index of GPUs in vectors; 0: nobody knows of any */
  constructor(id: number, address: Address, capacity: Vector, attributes: Attributes, gpuAt: number) {
    this.id = id;
    this.address = address;
    this.capacity = capacity;
    this.attributes = attributes;
    this.free = [...capacity];
    this.#gpuAt = gpuAt;
    this.#gpus = gpuAt === 0 ? undefined : Gpus.of(capacity[gpuAt] ?? 0, GPU_UNITS);
  }

  roomFor(demand: Vector): number {
    let count = Number.POSITIVE_INFINITY;
    for (const [index, amount] of demand.entries()) {
      if (amount === 0) continue;
      const isGpus = this.#gpus !== undefined && index === this.#gpuAt;
      const fits = isGpus ? this.#gpus.countOf(amount) : Math.floor((this.free[index] ?? 0) / amount);
      count = Math.min(count, Math.max(0, fits));
    }
    return count;
  }

  /** The run has its room from now on, though less than it needs may be free by what the worker said. */
  occupy(run: BookedRun): void {
    const { demand } = run.stage;
    addVector(this.free, demand, -1);
    if (this.#gpus === undefined) return;
    if (!this.#gpus.take(run, demand[this.#gpuAt] ?? 0)) this.#gpus.setFree(0, []);
    this.free[this.#gpuAt] = this.#gpus.room;
  }

  /** The room of a run that is gone is free again. Which GPUs those are is unknown if only the worker knows them: it will say. */
  vacate(run: BookedRun): void {
    addVector(this.free, run.stage.demand, 1);
    if (this.#gpus === undefined) return;
    if (!this.#gpus.release(run) && this.runs.length === 0)
      this.#gpus.setFree(this.capacity[this.#gpuAt]!, []);
    this.free[this.#gpuAt] = this.#gpus.room;
  }

  /** @param gpuParts what is free of each GPU that is partly taken; empty: one at most is, and `free` tells */
  setFree(free: Vector, gpuParts: readonly number[] = []): void {
    for (let index = 0; index < Math.max(free.length, this.free.length); index++)
      this.free[index] = free[index] ?? 0;
    this.#gpus?.setFree(this.free[this.#gpuAt]!, gpuParts);
  }

  /** Numbers later matches beyond one that the worker reports, which may be any number. */
  numberFrom(match: number): void {
    this.match = Math.max(this.match, Math.min(match, MATCH_MAX));
  }

  runOf(match: number): BookedRun | undefined {
    return this.runs.find((run) => run.match === match);
  }

  /** @returns whether it was there */
  removeRun(run: BookedRun): boolean {
    const at = this.runs.indexOf(run);
    if (at >= 0) this.runs.splice(at, 1);
    return at >= 0;
  }
}

export class BookedRun implements RunView {
  readonly id: number;
  readonly stage: BookedStage;
  readonly worker: BookedWorker;
  startedAt: Millis;
  /** Which task and attempt it is, where the owner has named it; else the owner chooses when it binds. */
  readonly named: TaskAttempt | undefined;
  isQueued = false;
  isConfirmed = false;
  /** Central's number of it at the worker; 0: none yet. */
  match = 0;
  /** When it was made, or its owner was last asked what became of it; −Infinity: it is to be asked to kill it. */
  askedAt: Millis;
  isPreempted = false;
  /** The news that it was found waits to be heard. */
  isFoundInNews = false;

  constructor(
    id: number,
    stage: BookedStage,
    worker: BookedWorker,
    startedAt: Millis,
    named: TaskAttempt | undefined,
  ) {
    this.id = id;
    this.stage = stage;
    this.worker = worker;
    this.startedAt = startedAt;
    this.named = named;
    this.askedAt = startedAt;
  }
}

const GPU_UNITS = unitsOf(GPU);

/** Facts of which a change is news, and others. */
const JOB_NEWS = [
  'user',
  'weight',
  'userWeight',
  'deadlineAt',
  'value',
  'long',
  'tasks',
  'priority',
] as const;
const JOB_REST = ['prefers', 'preemptible'] as const;
const STAGE_NEWS = ['part', 'estimateMs', 'estimateFollows', 'ended', 'tasks'] as const;
const STAGE_REST = ['after', 'gang'] as const;

type JobSaid = Pick<BookedJob, (typeof JOB_NEWS | typeof JOB_REST)[number]>;
type StageSaid = Pick<BookedStage, (typeof STAGE_NEWS | typeof STAGE_REST)[number]>;

/** Takes what is said of these. @returns whether anything is another than before */
function takeSaid<T>(known: T, said: Partial<T>, names: readonly (keyof T)[]): boolean {
  let isNew = false;
  for (const name of names) {
    const value = said[name];
    if (value === undefined || value === known[name]) continue;
    known[name] = value;
    isNew = true;
  }
  return isNew;
}

function isSame(one: readonly Segment[] | undefined, other: readonly Segment[] | undefined): boolean {
  if (one === undefined || other === undefined || one.length !== other.length) return one === other;
  return one.every(({ from, to, p }, at) => {
    const segment = other[at]!;
    return from === segment.from && to === segment.to && p === segment.p;
  });
}

import {
  type Address,
  addVector,
  type BatchPart,
  CHANGING_FACTS,
  Deque,
  FACT_NAMES,
  type FactName,
  FIXED_FACTS,
  GPU,
  Gpus,
  invariant,
  type JobFactValues,
  type JobNumber,
  LIMITS,
  type Millis,
  type Needs,
  NO_FACTS,
  type Segment,
  SLOT,
  type StageIndex,
  sumOf,
  type TaskAttempt,
  type TaskIndex,
  unitsOf,
  type Vector,
} from '@goshawk/core';
import type { Attributes, JobView, RunView, StageView, WorkerView } from '../contract.js';
import type { LimitGroup } from './limit-group.js';
import type { WaitingKind } from './waiting-kind.js';

/** Properties of a job that its owner reports. Omitted fields stay unchanged. */
export interface JobFacts extends Partial<JobFactValues> {
  readonly arrivedAt: Millis;
  /** `arrivedAt` is only the time at which central first saw the job; its owner has not reported the arrival yet. */
  readonly isArrivalGuessed?: boolean;
  readonly userWeight?: number;
  readonly deadlineAt?: Millis;
  /** Slot time (ms) of attempts that ended before central began to count them. */
  readonly attainedMs?: Millis;
  readonly isDeclared?: boolean;
}

/** Properties of a stage that its owner reports. Omitted fields stay unchanged. */
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
  readonly mayLend?: boolean;
}

/**
 * A scheduler that owns jobs. Its tag identifies it, and with a job's number the job; a restart or a takeover changes
 * only its addresses.
 */
export class BookedOwner {
  /** Absent until it enlists: workers may report its tasks earlier. */
  tag: string | undefined;
  /** Central expects messages from it: it is a member, or away. */
  isExpected = false;
  /** The current address, then former ones that workers may still use. */
  addresses: readonly Address[];
  readonly jobs = new Map<JobNumber, BookedJob>();

  constructor(address: Address) {
    this.addresses = [address];
  }

  get address(): Address {
    return this.addresses[0]!;
  }
}

// Shared by all entries that have none, because each of a backlog's jobs would otherwise keep several empty objects.
const NO_STAGES: readonly BookedStage[] = [];
const NO_NUMBERS: readonly number[] = [];
const NO_WORKERS: readonly WorkerView[] = [];
const NO_RUNS: ReadonlySet<BookedRun> = new Set();

type Mutable<T> = { -readonly [Name in keyof T]: T[Name] };

/** Has the facts of a job as properties. */
const BookedFacts = class {
  constructor() {
    Object.assign(this, NO_FACTS);
  }
} as new () => Mutable<JobFactValues>;

/** A job with its stages and runs. It exists while tasks wait or run, or until its owner withdraws it. */
export class BookedJob extends BookedFacts implements JobView {
  readonly id: number;
  owner: BookedOwner;
  readonly number: JobNumber;
  arrivedAt: Millis;
  userWeight = 1;
  deadlineAt: Millis = Number.POSITIVE_INFINITY;
  stages: readonly BookedStage[] = NO_STAGES;
  pilots: BookedStage | undefined;
  /** Created with the first run: most jobs of a backlog have none. */
  #runs: Set<BookedRun> | undefined;
  /** Runs of named tasks, by task. A task is named if the owner sent its index before the run was created. */
  #named: Map<number, BookedRun> | undefined;
  /** Total slot time (ms) of ended runs. */
  attained: Millis = 0;
  /** Whether the job stays until its owner withdraws it, even if no task is waiting. */
  isDeclared = false;
  /**
   * One more than the level of the running task that submitted it; 0: none ran. It stays when that task ends, so that tasks
   * which exceed limits still count at their level.
   */
  level = 0;
  /** When and where the policy expects to start it. */
  expected: { readonly at: Millis; readonly where: string | undefined } | undefined;
  /** Runs by attribute and value, for the attributes over which its tasks spread; undefined: none. */
  #runsAt: Map<string, Map<string, number>> | undefined;
  #isArrivalGuessed = true;
  #isAttainedKnown = false;
  /** Stages by index at the owner. Created with the second stage. */
  #byIndex: Map<number, BookedStage> | undefined;

  constructor(id: number, owner: BookedOwner, number: JobNumber, facts: JobFacts) {
    super();
    this.id = id;
    this.owner = owner;
    this.number = number;
    this.arrivedAt = facts.arrivedAt;
    this.update(facts);
  }

  get name(): string {
    const { tag } = this.owner;
    return tag === undefined ? String(this.number) : `${tag}-${this.number}`;
  }

  get facts(): Partial<JobFactValues> {
    const facts: Partial<Record<FactName, unknown>> = {};
    for (const name of FACT_NAMES) facts[name] = this[name];
    return facts as JobFactValues;
  }

  get runs(): ReadonlySet<BookedRun> {
    return this.#runs ?? NO_RUNS;
  }

  get running(): number {
    return this.#runs?.size ?? 0;
  }

  get isOver(): boolean {
    if (this.running > 0 || this.isDeclared) return false;
    for (const stage of this.stages) if (stage.waiting + stage.overLimit > 0) return false;
    return true;
  }

  stageAt(index: StageIndex): BookedStage | undefined {
    if (this.#byIndex !== undefined) return this.#byIndex.get(index);
    const [only] = this.stages;
    return only?.index === index ? only : undefined;
  }

  addStage(id: number, index: StageIndex, needs: Needs, facts: StageFacts): BookedStage {
    const stage = new BookedStage(id, this, index, needs, facts);
    this.spreads(needs);
    const [first] = this.stages;
    if (first !== undefined) {
      this.#byIndex ??= new Map([[first.index, first]]);
      this.#byIndex.set(index, stage);
    }
    if (stage.part === 'pilots') this.pilots = stage;
    // Unlike a push to an empty array, this reserves no space for 16 more.
    this.stages = this.stages.concat(stage).sort((one, other) => one.index - other.index);
    return stage;
  }

  attainedMs(now: Millis): Millis {
    let sum = this.attained;
    for (const run of this.#runs ?? []) if (!run.isQueued) sum += now - run.startedAt;
    return sum;
  }

  /** Returns the run of a named task. */
  runOf(task: TaskIndex): BookedRun | undefined {
    return this.#named?.get(task);
  }

  addRun(run: BookedRun): void {
    this.#runs ??= new Set();
    this.#runs.add(run);
    if (this.#runsAt !== undefined) this.#countAt(run.worker, 1);
    if (run.named === undefined) return;
    this.#named ??= new Map();
    this.#named.set(run.named.task, run);
  }

  /** @returns whether the job had the run */
  removeRun(run: BookedRun): boolean {
    const wasThere = this.#runs?.delete(run) === true;
    if (wasThere && this.#runsAt !== undefined) this.#countAt(run.worker, -1);
    if (run.named !== undefined && this.runOf(run.named.task) === run) this.#named!.delete(run.named.task);
    return wasThere;
  }

  runningAt(attribute: string, value: string): number {
    return this.#runsAt?.get(attribute)?.get(value) ?? 0;
  }

  /** Counts its runs by the attributes over which a stage with these needs spreads. */
  spreads({ spread }: Needs): void {
    if (spread === undefined || spread.every(({ name }) => this.#runsAt?.has(name))) return;
    const names = new Set([...(this.#runsAt?.keys() ?? []), ...spread.map(({ name }) => name)]);
    this.#runsAt = new Map([...names].map((name) => [name, new Map<string, number>()]));
    for (const run of this.runs) this.#countAt(run.worker, 1);
  }

  #countAt({ attributes }: WorkerView, change: number): void {
    for (const [name, counts] of this.#runsAt!) {
      const value = attributes[name];
      if (value !== undefined) counts.set(value, (counts.get(value) ?? 0) + change);
    }
  }

  /** Applies a report of the owner. @returns whether anything has changed */
  update(facts: JobFacts): boolean {
    let hasChanged = applyFacts<JobFields>(this, facts, JOB_WATCHED_FIELDS);
    applyFacts<JobFields>(this, facts, FIXED_FACTS);
    this.isDeclared ||= facts.isDeclared ?? false;
    if (this.#isArrivalGuessed && facts.isArrivalGuessed !== true) {
      hasChanged ||= this.arrivedAt !== facts.arrivedAt;
      this.arrivedAt = facts.arrivedAt;
      this.#isArrivalGuessed = false;
    }
    // Use only the first report: later ones may include attempts that central counts as well.
    if (!this.#isAttainedKnown && facts.attainedMs !== undefined) {
      this.attained = Math.max(this.attained, facts.attainedMs);
      this.#isAttainedKnown = true;
    }
    return hasChanged;
  }
}

/** A stage of a job, or its pilots: the tasks that wait there, and what its owner has reported. */
export class BookedStage implements StageView {
  readonly id: number;
  readonly job: BookedJob;
  readonly index: StageIndex;
  readonly demand: Vector;
  needs: Needs;
  part: BatchPart = 'judged';
  after: readonly number[] = NO_NUMBERS;
  tasks = 0;
  ended = 0;
  waiting = 0;
  /** Number of ready tasks that exceed a limit of their user; the policy does not see them. */
  overLimit = 0;
  /** The group in which limits count its waiting tasks, and their number there. */
  limitGroup: LimitGroup | undefined;
  limitTasks = 0;
  running = 0;
  estimateMs: Millis = 0;
  estimateFollows = false;
  distribution: readonly Segment[] | undefined;
  gang = false;
  mayLend = true;
  hasGpus = false;
  /** Workers that the owner declined, with the time. */
  declinedBy: Map<WorkerView, Millis> | undefined;
  /** Workers in `declinedBy` that the owner's last `need` message listed in `avoid`. */
  avoided: readonly WorkerView[] = NO_WORKERS;
  waitsSince: Millis = 0;
  /** Number of matches sent to the owner. */
  matches = 0;
  /** The kind in which its waiting tasks are counted, and their number there. */
  kind: WaitingKind | undefined;
  kindTasks = 0;
  /** A change of the stage is queued for the policy. */
  isWaitingPending = false;
  /** Attempt numbers of the named tasks that have no worker, by task. */
  #attempts: Map<number, number> | undefined;
  /** The same tasks in order of arrival; may also contain tasks that no longer wait. */
  #order: Deque<number> | undefined;

  constructor(id: number, job: BookedJob, index: StageIndex, needs: Needs, facts: StageFacts) {
    this.id = id;
    this.job = job;
    this.index = index;
    this.demand = needs.demand;
    this.needs = needs;
    this.update(facts);
  }

  /** Describes the limit that its tasks exceed. */
  get limitReason(): string | undefined {
    return this.overLimit > 0 ? this.limitGroup?.held?.reason : undefined;
  }

  /** Number of waiting named tasks. */
  get named(): number {
    return this.#attempts?.size ?? 0;
  }

  /** The owner has declined the worker for a task of the stage. */
  declined(worker: WorkerView, now: Millis): void {
    this.declinedBy ??= new Map();
    this.declinedBy.set(worker, now);
  }

  /**
   * Adds a named task, or updates the attempt of a known one, which keeps its position. @returns whether the task is
   * new
   */
  name({ task, attempt }: TaskAttempt): boolean {
    this.#attempts ??= new Map();
    this.#order ??= new Deque();
    const known = this.#attempts.get(task);
    if (known === undefined) this.#order.push(task);
    this.#attempts.set(task, Math.max(attempt, known ?? 0));
    return known === undefined;
  }

  /** Removes and returns the next named task; undefined if there is none. */
  takeNamed(): TaskAttempt | undefined {
    if (this.#attempts === undefined) return undefined;
    for (let task = this.#order!.shift(); task !== undefined; task = this.#order!.shift()) {
      const attempt = this.#attempts.get(task);
      if (attempt !== undefined && this.#attempts.delete(task)) return { task, attempt };
    }
    return undefined;
  }

  /** Returns the attempt number of a waiting named task; undefined if it is not waiting. */
  waitingAttempt(task: TaskIndex): number | undefined {
    return this.#attempts?.get(task);
  }

  /** Removes a named task that no longer waits. */
  unname(task: TaskIndex): void {
    this.#attempts?.delete(task);
  }

  clearNamed(): void {
    this.#attempts = undefined;
    this.#order = undefined;
  }

  /** Applies a report of the owner. @returns whether anything has changed */
  update(facts: StageFacts): boolean {
    const { distribution } = this;
    const hasChanged = applyFacts<StageFields>(this, facts, STAGE_WATCHED_FIELDS);
    applyFacts<StageFields>(this, facts, STAGE_OTHER_FIELDS);
    // Compare by value, because each report creates a new list.
    if (!isSame(facts.distribution, distribution)) this.distribution = facts.distribution ?? distribution;
    return hasChanged || distribution !== this.distribution;
  }
}

const NONE: readonly RunView[] = [];

/** Part of a worker's GPU that a run holds; undefined: an unknown run. */
export interface GpuShare {
  readonly holder: BookedRun | undefined;
  readonly index: number;
  readonly amount: number;
}

/** Largest match number accepted from a worker, so that all later ones are safe integers. */
const MATCH_MAX = 2 ** 52;

/** A run that has ended. */
export interface EndedRun {
  readonly run: BookedRun;
  readonly endedAt: Millis;
}

const NONE_ENDED: EndedRun[] = [];

/** A worker: its free resources, and the runs in progress or in flight. */
export class BookedWorker implements WorkerView {
  readonly id: number;
  readonly address: Address;
  readonly capacity: Vector;
  readonly attributes: Attributes;
  /** Empty: unknown. */
  name = '';
  readonly free: number[];
  /** Free parts of each GPU; undefined without GPUs. */
  #gpus: Gpus<BookedRun> | undefined;
  readonly #gpuAt: number;
  open = false;
  /** May still contain runs that have left; see `removeRun`. */
  #runs: BookedRun[] = [];
  #left = 0;
  /** Slots of confirmed runs. */
  confirmedSlots = 0;
  /** A `freed` event of this worker is queued for the policy. */
  isFreedPending = false;
  /** The `freed` event of this worker; one object serves all reports. */
  readonly freed: { readonly kind: 'freed'; readonly worker: WorkerView } = { kind: 'freed', worker: this };
  /** Number of its runs that are paused. */
  paused = 0;
  /** Whether a run that took back its CPUs left too few for all; the next report of the worker ends that. */
  isOverbooked = false;
  /** Number of its last match. */
  match = 0;
  /** Index of its bit in the message `occupied`. */
  row = 0;
  /** The latest runs that it no longer reported, at most one per slot: a later report may contain them again. */
  endedUnreported: EndedRun[] = NONE_ENDED;
  /** Whether its last report lists a run that is not in the books. */
  hasUnknownRuns = false;

  /** @param gpuAt index of GPUs in vectors; 0: no worker has GPUs */
  constructor(id: number, address: Address, capacity: Vector, attributes: Attributes, gpuAt: number) {
    this.id = id;
    this.address = address;
    this.capacity = capacity;
    this.attributes = attributes;
    this.free = [...capacity];
    this.#gpuAt = gpuAt;
    this.#gpus = gpuAt === 0 ? undefined : Gpus.of(capacity[gpuAt] ?? 0, GPU_UNITS);
  }

  roomFor(demand: Vector, ending: readonly RunView[] = NONE): number {
    const free = ending.length === 0 ? this.free : [...this.free];
    for (const { stage, lent, lenders } of ending) {
      addVector(free as number[], stage.demand, 1);
      // A run cannot free CPUs that it has lent, and those that it has borrowed return to the lenders.
      if (lent.length > 0) addVector(free as number[], lent, -1);
      for (const lender of lenders)
        if (!ending.includes(lender)) addVector(free as number[], lender.lent, -1);
    }
    const gpus = ending.length === 0 ? this.#gpus : this.#gpusAfter(ending);
    let count = Number.POSITIVE_INFINITY;
    for (const [index, amount] of demand.entries()) {
      if (amount === 0) continue;
      const isGpus = gpus !== undefined && index === this.#gpuAt;
      const fits = isGpus ? gpus.countOf(amount) : Math.floor((free[index] ?? 0) / amount);
      count = Math.min(count, Math.max(0, fits));
    }
    return count;
  }

  #gpusAfter(ending: readonly RunView[]): Gpus<BookedRun> | undefined {
    if (this.#gpus === undefined) return undefined;
    const gpusOf = (run: RunView): number => run.stage.demand[this.#gpuAt] ?? 0;
    const capacity = this.capacity[this.#gpuAt] ?? 0;
    // The worker may run tasks that are unknown here, so only its free GPUs show that all become free.
    if (this.free[this.#gpuAt]! + sumOf(ending, gpusOf) >= capacity) return Gpus.of(capacity, GPU_UNITS);
    return this.#gpus.after(ending as readonly BookedRun[], gpusOf);
  }

  /** Subtracts the run's demand, even if the worker has reported fewer free resources. */
  occupy(run: BookedRun): void {
    const { demand } = run.stage;
    addVector(this.free, demand, -1);
    if (this.#gpus === undefined) return;
    if (!this.#gpus.take(run, demand[this.#gpuAt] ?? 0)) this.#gpus.setFree(0, []);
    this.free[this.#gpuAt] = this.#gpus.room;
  }

  /**
   * Frees the resources of a removed run. If only the worker knows which GPUs it used, the worker's next report
   * corrects the GPUs.
   */
  vacate(run: BookedRun): void {
    addVector(this.free, run.stage.demand, 1);
    if (this.#gpus === undefined) return;
    if (!this.#gpus.release(run) && this.runs.length === 0)
      this.#gpus.setFree(this.capacity[this.#gpuAt]!, []);
    this.free[this.#gpuAt] = this.#gpus.room;
  }

  /** Subtracts the demand of a run in flight, less what it lends already. */
  occupyAgain(run: BookedRun): void {
    this.occupy(run);
    if (run.lent.length > 0) addVector(this.free, run.lent, 1);
  }

  /** Adds slots to those of confirmed runs. */
  confirmSlots(slots: number): void {
    this.confirmedSlots += slots;
    invariant(
      this.confirmedSlots >= 0,
      () => `${this.confirmedSlots} slots of worker ${this.id} are confirmed after ${slots} more`,
    );
  }

  /** The run pauses, and frees these slots and CPUs for its borrower. */
  lend(run: BookedRun, amounts: Vector): void {
    run.lent = amounts;
    this.paused++;
    addVector(this.free, amounts, 1);
    if (run.isConfirmed) this.confirmSlots(-amounts[SLOT]!);
  }

  /** The run takes back what it has lent. */
  takeBack(run: BookedRun): void {
    addVector(this.free, run.lent, -1);
    if (run.isConfirmed) this.confirmSlots(run.lent[SLOT]!);
    this.paused--;
    run.lent = NOTHING_LENT;
  }

  /**
   * Sets what the worker reports as free, at most its capacity: its key may permit no more.
   *
   * @param gpuParts free amounts of partly used GPUs; empty if at most one is, because `free` then implies it
   */
  setFree(free: Vector, gpuParts: readonly number[] = []): void {
    for (let index = 0; index < Math.max(free.length, this.free.length); index++)
      this.free[index] = Math.min(free[index] ?? 0, this.capacity[index] ?? 0);
    this.#gpus?.setFree(this.free[this.#gpuAt]!, gpuParts);
    this.isOverbooked = false;
  }

  /** Sets which runs hold which GPUs, unless the report contradicts the free amount that was set before. */
  setGpus(shares: Iterable<GpuShare>): void {
    const free = this.free[this.#gpuAt];
    const capacity = this.capacity[this.#gpuAt];
    const known = this.#gpus;
    if (known === undefined || free === undefined || capacity === undefined) return;
    const reported = Gpus.of<BookedRun>(capacity, GPU_UNITS);
    if (reported?.setHeld(capacity, shares) && reported.room === free) this.#gpus = reported;
  }

  /** Continues the numbers of matches after one that the worker reported, which is untrusted. */
  numberFrom(match: number): void {
    this.match = Math.max(this.match, Math.min(match, MATCH_MAX));
  }

  /** Slots not used by confirmed runs. */
  get slotsLeft(): number {
    return this.capacity[SLOT]! - this.confirmedSlots;
  }

  /** Counts at most as much as free as the runs leave, after they have taken more than there is. */
  limitFree(): void {
    for (const [index, capacity] of this.capacity.entries()) {
      if (index === SLOT || index === this.#gpuAt) continue;
      const used = sumOf(
        this.runs,
        (run) => (run.isQueued ? 0 : (run.stage.demand[index] ?? 0)) - (run.lent[index] ?? 0),
      );
      this.free[index] = Math.max(0, Math.min(this.free[index] ?? 0, capacity - used));
    }
    if (this.runs.length === 0) this.isOverbooked = false;
  }

  /** Counts at most as many slots as free as confirmed runs leave. */
  limitFreeSlots(): void {
    this.free[SLOT] = Math.max(0, Math.min(this.free[SLOT]!, this.slotsLeft));
  }

  runOf(match: number): BookedRun | undefined {
    return this.runs.find((run) => run.match === match);
  }

  /** Its runs in the order in which they arrived. */
  get runs(): readonly BookedRun[] {
    if (this.#left > 0) {
      this.#runs = this.#runs.filter((run) => !run.hasLeft);
      this.#left = 0;
    }
    return this.#runs;
  }

  /** Number of its runs. */
  get runCount(): number {
    return this.#runs.length - this.#left;
  }

  addRun(run: BookedRun): void {
    this.#runs.push(run);
  }

  /**
   * Removes a run. A long list is shortened only when it is read: to end all of a long queue would otherwise take quadratic
   * time.
   *
   * @returns whether the worker had the run
   */
  removeRun(run: BookedRun): boolean {
    if (run.hasLeft) return false;
    if (this.#runs.length > LIMITS.slotsMax) this.#left++;
    else {
      const at = this.#runs.indexOf(run);
      if (at < 0) return false;
      this.#runs.splice(at, 1);
    }
    run.hasLeft = true;
    return true;
  }
}

/**
 * What is known of a run: its start is in flight to the worker, or its place in the worker's queue is (`queuing`); the worker has
 * queued it; it uses a slot. One that has ended keeps its last state.
 */
type RunState = 'inFlight' | 'queuing' | 'queued' | 'running';

/** The changes of a run: the next state by state. Others contradict the books. */
const RUN_LIFE: Readonly<Record<'queue' | 'confirm' | 'run', { readonly [Before in RunState]?: RunState }>> =
  {
    queue: { inFlight: 'queuing' },
    confirm: { inFlight: 'running', queuing: 'queued' },
    run: { inFlight: 'running', queuing: 'running', queued: 'running' },
  };

/** A task at a worker, from its start in a plan to its reported end. */
export class BookedRun implements RunView {
  readonly id: number;
  readonly stage: BookedStage;
  readonly worker: BookedWorker;
  startedAt: Millis;
  /** Task and attempt, if the owner has named the task; otherwise the owner selects a task when it binds the match. */
  readonly named: TaskAttempt | undefined;
  #state: RunState = 'inFlight';
  /** The number of the match at the worker; 0: none yet. */
  match = 0;
  /** When the run was created, or its owner was last queried about the match or asked to kill it. */
  queriedAt: Millis;
  /** Its task, if the worker has reported it with the run. */
  task: TaskIndex | undefined;
  /** Whether the policy has requested its preemption, and whether its owner has been asked; undefined: neither. */
  preemption: 'requested' | 'sent' | undefined;
  /** Whether its worker no longer has it. */
  hasLeft = false;
  /** A `found` or `resumed` event of this run is queued for the policy. */
  isFoundPending = false;
  lenders: readonly BookedRun[] = NO_LENDERS;
  isShared = false;
  /** How long the lenders pause at most. */
  lentAtMostMs: Millis = 0;
  borrower: BookedRun | undefined;
  lent: Vector = NOTHING_LENT;
  /** Time for which it was paused before `pausedAt`, when it was paused last. */
  pausedBeforeMs: Millis = 0;
  pausedAt: Millis = 0;

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
    this.queriedAt = startedAt;
  }

  get isQueued(): boolean {
    return this.#state === 'queuing' || this.#state === 'queued';
  }

  get isConfirmed(): boolean {
    return this.#state === 'queued' || this.#state === 'running';
  }

  get isPreempted(): boolean {
    return this.preemption !== undefined;
  }

  /** Changes its state. @throws InvariantError if the change is not in `RUN_LIFE` */
  step(change: keyof typeof RUN_LIFE): void {
    const before = this.#state;
    const after: RunState | undefined = RUN_LIFE[change][before];
    invariant(after !== undefined, () => `run ${this.id} was ${before}: ${change}`);
    this.#state = after;
  }

  pausedMs(now: Millis): Millis {
    const { borrower } = this;
    const isPaused = borrower !== undefined && !borrower.isShared;
    return this.pausedBeforeMs + (isPaused ? Math.max(0, now - this.pausedAt) : 0);
  }
}

const NO_LENDERS: readonly BookedRun[] = [];
const NOTHING_LENT: Vector = [];

const GPU_UNITS = unitsOf(GPU);

/** The policy is notified of changes to the watched fields only. */
const JOB_WATCHED_FIELDS = [...CHANGING_FACTS, 'userWeight', 'deadlineAt'] as const;
const STAGE_WATCHED_FIELDS = ['part', 'estimateMs', 'estimateFollows', 'ended', 'tasks'] as const;
const STAGE_OTHER_FIELDS = ['after', 'gang', 'mayLend'] as const;

type JobFields = Pick<BookedJob, FactName | 'userWeight' | 'deadlineAt'>;
type StageFields = Pick<BookedStage, (typeof STAGE_WATCHED_FIELDS | typeof STAGE_OTHER_FIELDS)[number]>;

/** Copies the properties that are set. @returns whether any has changed */
function applyFacts<T>(known: T, reported: Partial<T>, names: readonly (keyof T)[]): boolean {
  let hasChanged = false;
  for (const name of names) {
    const value = reported[name];
    if (value === undefined || value === known[name]) continue;
    known[name] = value;
    hasChanged = true;
  }
  return hasChanged;
}

function isSame(one: readonly Segment[] | undefined, other: readonly Segment[] | undefined): boolean {
  if (one === undefined || other === undefined || one.length !== other.length) return one === other;
  return one.every(({ from, to, p }, at) => {
    const segment = other[at]!;
    return from === segment.from && to === segment.to && p === segment.p;
  });
}

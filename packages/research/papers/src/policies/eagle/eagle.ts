import { IndexedHeap, type Millis } from '@goshawk/core';
import {
  type CentralPolicy,
  type ClusterChange,
  type ClusterView,
  type Draft,
  fitsEver,
  fitsNow,
  isPermitted,
  isSelective,
  type JobView,
  type PolicyContext,
  type PolicyModule,
  type StageView,
  type ValuesOf,
  type WorkerView,
} from '@goshawk/policies';

const EAGLE_OPTIONS = {
  shortPartition: {
    default: 0.17,
    min: 0,
    max: 0.99,
    help: 'fraction of the workers that run no long tasks (at least one worker)',
  },
  probes: { default: 2, min: 1, max: 100, help: 'probes per task of a short job' },
  bypassMax: {
    default: 5,
    min: 0,
    max: 1e6,
    help: 'tasks that may start at a worker before an earlier entry of its queue; the paper’s bound is not known to us',
  },
} as const;

type EagleOptions = ValuesOf<typeof EAGLE_OPTIONS>;

/** An entry in the queue of a worker: a probe of a short job, or one task of a long job. */
interface Entry {
  readonly stage: StageView;
  readonly isTask: boolean;
  /** How many later entries have been served first. */
  bypassed: number;
}

/**
 * Eagle (Delgado, Didona, Dinu, Zwaenepoel: Job-aware Scheduling in Eagle: Divide and Stick to Your Probes, SoCC 2016). The
 * rules are those of its abstract; what it leaves open is Hawk's (ATC 2015).
 *
 * Succinct state sharing: schedulers of short jobs know which workers have long tasks. A probe that a worker with a long
 * task would get goes to one without. Sticky batch probing: a probe stays at its worker until the job is done, so that
 * the worker may run several of its tasks. A worker serves the job with the least remaining work first, an approximation
 * of SRPT; an entry that was bypassed too often goes first. Long tasks queue at the worker with the least waiting time
 * for long tasks (Hawk §3.7), outside the short partition.
 */
class Eagle implements CentralPolicy {
  readonly #options: EagleOptions;
  readonly #context: PolicyContext;
  readonly #queues = new Map<WorkerView, Entry[]>();
  /** Open workers in order of joining; the first of them are the short partition. */
  #open: WorkerView[] = [];
  /** Workers with entries of each stage. */
  readonly #workersOf = new Map<StageView, Set<WorkerView>>();
  /** Queued tasks of long stages. */
  readonly #queued = new Map<StageView, number>();
  /** Stages whose waiting tasks may need entries. */
  readonly #unplaced = new Set<StageView>();
  /** Stages for which no worker is suitable, until one joins. */
  readonly #unsuitable = new Set<StageView>();
  /** Workers that may start a task. */
  readonly #idle = new Set<WorkerView>();

  constructor(options: EagleOptions, context: PolicyContext) {
    this.#options = options;
    this.#context = context;
  }

  update(changes: readonly ClusterChange[]): void {
    for (const each of changes) {
      if (each.kind === 'opened') this.#join(each.worker);
      else if (each.kind === 'closed' || each.kind === 'left') this.#leave(each.worker);
      else if (each.kind === 'freed' && this.#queues.has(each.worker)) this.#idle.add(each.worker);
      else if (each.kind === 'waiting') this.#unplaced.add(each.stage);
      else if (each.kind === 'gone') this.#forget(each.job);
    }
  }

  plan(_cluster: ClusterView, draft: Draft, now: Millis): void {
    for (const stage of [...this.#unplaced]) {
      // Where such a stage may run changes with every start.
      if (isSelective(stage)) this.#withdraw(stage);
      if (stage.waiting === 0 || !isSelective(stage)) this.#unplaced.delete(stage);
      if (stage.waiting === 0) continue;
      const isPlaced = this.#isLong(stage) ? this.#queueTasks(stage, now) : this.#probe(stage);
      if (!isPlaced && !isSelective(stage)) this.#unsuitable.add(stage);
    }
    for (const worker of this.#idle) this.#serve(worker, draft);
    this.#idle.clear();
  }

  #isLong({ job, estimateMs }: StageView): boolean {
    return job.long || estimateMs >= this.#context.cutoffMs;
  }

  #join(worker: WorkerView): void {
    if (!this.#queues.has(worker)) this.#open.push(worker);
    this.#queues.set(worker, this.#queues.get(worker) ?? []);
    this.#idle.add(worker);
    for (const stage of this.#unsuitable) this.#unplaced.add(stage);
    this.#unsuitable.clear();
  }

  /** What was queued at the worker is queued elsewhere. */
  #leave(worker: WorkerView): void {
    for (const { stage, isTask } of this.#queues.get(worker) ?? []) {
      if (isTask) this.#count(stage, -1);
      this.#workersOf.get(stage)?.delete(worker);
      this.#unplaced.add(stage);
    }
    this.#queues.delete(worker);
    this.#open = this.#open.filter((each) => each !== worker);
    this.#idle.delete(worker);
  }

  #forget({ stages }: JobView): void {
    for (const stage of stages) {
      for (const worker of this.#workersOf.get(stage) ?? []) this.#drop(stage, worker);
      this.#workersOf.delete(stage);
      this.#queued.delete(stage);
      this.#unplaced.delete(stage);
      this.#unsuitable.delete(stage);
    }
  }

  /** Removes entries from workers that the stage may not use at present. */
  #withdraw(stage: StageView): void {
    for (const worker of this.#workersOf.get(stage) ?? [])
      if (!mayUse(stage, worker)) this.#drop(stage, worker);
  }

  #drop(stage: StageView, worker: WorkerView): void {
    const queue = this.#queues.get(worker)!;
    const kept = queue.filter((entry) => entry.stage !== stage);
    const tasks = queue.filter((entry) => entry.stage === stage && entry.isTask).length;
    if (tasks > 0) this.#count(stage, -tasks);
    queue.splice(0, queue.length, ...kept);
    this.#workersOf.get(stage)?.delete(worker);
  }

  #enqueue(stage: StageView, worker: WorkerView, isTask: boolean): void {
    this.#queues.get(worker)!.push({ stage, isTask, bypassed: 0 });
    this.#idle.add(worker);
    const workers = this.#workersOf.get(stage) ?? new Set();
    this.#workersOf.set(stage, workers.add(worker));
  }

  #count(stage: StageView, by: number): void {
    this.#queued.set(stage, (this.#queued.get(stage) ?? 0) + by);
  }

  /** Number of the first workers that never run long tasks. */
  #partition(): number {
    const { shortPartition } = this.#options;
    const some = Math.max(1, Math.floor(shortPartition * this.#open.length));
    return shortPartition === 0 ? 0 : Math.min(some, this.#open.length - 1);
  }

  /**
   * Queues the tasks of a long stage that have no worker: each where the queued and running long tasks end first.
   * @returns false if no worker is suitable
   */
  #queueTasks(stage: StageView, now: Millis): boolean {
    const missing = stage.waiting - (this.#queued.get(stage) ?? 0);
    if (missing <= 0) return true;
    const suitable = this.#open.filter((worker) => mayUse(stage, worker));
    const general = new Set(this.#open.slice(this.#partition()));
    const outside = suitable.filter((worker) => general.has(worker));
    // With requirements that only the short partition meets, the job would wait for ever.
    const candidates = outside.length > 0 ? outside : suitable;
    if (candidates.length === 0) return false;
    const heap = new IndexedHeap();
    for (const [at, worker] of candidates.entries()) heap.set(at, this.#longWaitAt(worker, now));
    for (let task = 0; task < missing; task++) {
      const at = heap.top();
      const worker = candidates[at]!;
      this.#enqueue(stage, worker, true);
      heap.set(at, heap.topKey() + stage.estimateMs / Math.max(1, worker.roomFor(stage.demand, worker.runs)));
    }
    this.#count(stage, missing);
    return true;
  }

  /** Waiting time of another long task, from the estimates of those that run and wait there. */
  #longWaitAt(worker: WorkerView, now: Millis): Millis {
    let wait = 0;
    for (const { stage, startedAt } of worker.runs)
      if (this.#isLong(stage)) wait += Math.max(0, startedAt + stage.estimateMs - now);
    for (const { stage, isTask } of this.#queues.get(worker)!) if (isTask) wait += stage.estimateMs;
    return wait;
  }

  /** Whether the worker runs, or will run, a long task: one bit of the shared state. */
  #hasLong(worker: WorkerView): boolean {
    return (
      worker.runs.some(({ stage }) => this.#isLong(stage)) ||
      this.#queues.get(worker)!.some(({ isTask }) => isTask)
    );
  }

  /**
   * Sends probes for tasks that have none, to workers without long tasks; if there are none, one to any worker.
   * @returns false if no worker is suitable
   */
  #probe(stage: StageView): boolean {
    const probed = this.#workersOf.get(stage);
    const known = probed?.size ?? 0;
    if (stage.waiting <= known) return true;
    const wanted = Math.ceil(this.#options.probes * stage.waiting) - known;
    const isNew = (worker: WorkerView) => probed?.has(worker) !== true && mayUse(stage, worker);
    let drawn = this.#drawn(wanted, (worker) => isNew(worker) && !this.#hasLong(worker));
    if (known + drawn.length === 0) drawn = this.#drawn(1, isNew);
    for (const worker of drawn) this.#enqueue(stage, worker, false);
    return known + drawn.length > 0;
  }

  /** Draws workers without replacement. */
  #drawn(wanted: number, isSuitable: (worker: WorkerView) => boolean): WorkerView[] {
    const from = [...this.#open];
    const drawn: WorkerView[] = [];
    for (let left = from.length; left > 0 && drawn.length < wanted; left--) {
      const at = Math.floor(this.#context.random() * left);
      const worker = from[at]!;
      from[at] = from[left - 1]!;
      if (isSuitable(worker)) drawn.push(worker);
    }
    return drawn;
  }

  /** Starts tasks of the worker's queue while they fit. */
  #serve(worker: WorkerView, draft: Draft): void {
    const queue = this.#queues.get(worker);
    if (queue === undefined) return;
    for (;;) {
      const place = this.#nextIn(queue, worker);
      const entry = queue[place];
      if (entry === undefined || draft.start(entry.stage, worker) === undefined) return;
      for (const earlier of queue.slice(0, place)) if (earlier.stage.waiting > 0) earlier.bypassed++;
      if (!entry.isTask) continue;
      queue.splice(place, 1);
      if (!queue.some(({ stage }) => stage === entry.stage)) this.#workersOf.get(entry.stage)?.delete(worker);
      this.#count(entry.stage, -1);
    }
  }

  /** Place of the entry that is served next; −1: none. */
  #nextIn(queue: readonly Entry[], worker: WorkerView): number {
    let best = -1;
    let least = Number.POSITIVE_INFINITY;
    for (const [place, { stage, isTask, bypassed }] of queue.entries()) {
      if (stage.waiting === 0 || !fitsNow(stage, worker)) continue;
      if (bypassed >= this.#options.bypassMax) return place;
      const remaining = isTask ? Number.MAX_VALUE : remainingMs(stage.job);
      if (remaining < least) [best, least] = [place, remaining];
    }
    return best;
  }
}

/** Whether tasks of the stage may run at the worker at present, once there is room. */
function mayUse(stage: StageView, worker: WorkerView): boolean {
  return fitsEver(stage, worker) && isPermitted(stage, worker) && stage.declinedBy?.has(worker) !== true;
}

/** Estimated work of the tasks of a job that have not ended. */
function remainingMs({ stages }: JobView): Millis {
  let work = 0;
  for (const { waiting, running, estimateMs } of stages) work += (waiting + running) * estimateMs;
  return work;
}

export const EAGLE: PolicyModule<EagleOptions> = {
  title: 'Eagle: short jobs avoid workers with long tasks, and probes stay until their job is done',
  declares: true,
  options: EAGLE_OPTIONS,
  make: (options, context) => new Eagle(options, context),
};

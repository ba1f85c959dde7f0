import type { Millis } from '@goshawk/core';
import type {
  CentralPolicy,
  ClusterChange,
  ClusterView,
  Draft,
  PolicyContext,
  PolicyModule,
  RunView,
  StageView,
  ValuesOf,
  WorkerView,
} from '@goshawk/policies';
import { FreeWorkers, Reservations, RunTimeEstimates, StageOrder } from '@goshawk/policies';
import { serve } from './serving.js';
import { Shares } from './shares.js';

/**
 * Index of the second-highest queue. Pilots should end soon, but not delay jobs known to be small (SLearn
 * §5.1.2).
 */
const SAMPLING_QUEUE = 1;

/** Options of `gs`, with the defaults of SLearn §5.2.1. */
const GS_OPTIONS = {
  queues: { default: 10, min: 1, max: 64, help: 'priority queues' },
  baseMs: {
    default: 1e6,
    min: 1,
    max: 1e15,
    scales: true,
    help: 'job size, in ms of slot time, at which the second queue begins',
  },
  growth: {
    default: 10,
    min: 1.001,
    max: 1e6,
    help: 'ratio of job sizes between one queue and the next',
  },
  weightRatio: { default: 10, min: 1, max: 1e6, help: 'ratio of weights between one queue and the next' },
  by: {
    default: 'size',
    choices: ['size', 'service', 'arrival'],
    flag: '--estimator',
    help: 'how a job’s queue is chosen: by estimated size, by attained service (LAS), or not at all (FIFO)',
  },
} as const;

type GsOptions = ValuesOf<typeof GS_OPTIONS>;

/**
 * The scheduler in which SLearn is compared (GS, SLearn §5.1.1). Priority queues by the estimated size of
 * jobs share slots by weight, and each is in order of arrival. Pilots have the second queue, and jobs with
 * few tasks the first. If slots would be idle, other tasks of a job start before its pilots have ended.
 *
 * `by: service`: a job's queue follows from its attained service (LAS, §5.1.3). `by: arrival`: one queue
 * (FIFO).
 */
class Gs implements CentralPolicy {
  readonly #options: GsOptions;
  readonly #context: PolicyContext;
  readonly #shares: Shares;
  /** The eligible stages of each queue. */
  readonly #queues: readonly StageOrder[];
  /** Tasks that may run before their size is known. */
  readonly #early = new StageOrder();
  readonly #orders: readonly StageOrder[];
  /** The order that contains each waiting stage. */
  readonly #orderOf = new Map<StageView, StageOrder>();
  readonly #free = new FreeWorkers();
  readonly #estimates = new RunTimeEstimates();
  readonly #reservations = new Reservations(this.#estimates);
  /** The queue from which each run was started. */
  readonly #queueOfRun = new Map<RunView, number>();
  /** Number of runs by queue. */
  readonly #running: number[];

  constructor(options: GsOptions, context: PolicyContext) {
    this.#options = options;
    this.#context = context;
    const queues = options.by === 'arrival' ? 1 : options.queues;
    this.#shares = new Shares(queues, options.weightRatio);
    this.#queues = Array.from({ length: queues }, () => new StageOrder());
    this.#orders = [...this.#queues, this.#early];
    this.#running = this.#queues.map(() => 0);
  }

  update(changes: readonly ClusterChange[], now: Millis): void {
    for (const each of changes) {
      switch (each.kind) {
        case 'opened':
        case 'closed':
        case 'freed':
        case 'shrank':
        case 'left':
          this.#free.update(each.worker);
          break;
        case 'found':
          this.#count(each.run, this.#queueOf(each.run.stage, now));
          break;
        case 'ended':
          this.#uncount(each.run);
          this.#estimates.ended(each.run, each.how, now);
          break;
        case 'changed':
          for (const stage of each.job.stages) this.#update(stage, now);
          break;
        case 'waiting':
          this.#update(each.stage, now);
          break;
        case 'gone':
          for (const stage of each.job.stages) this.#forget(stage);
          break;
      }
    }
  }

  plan(cluster: ClusterView, draft: Draft, now: Millis): void {
    if (this.#free.size === 0 || this.#orderOf.size === 0) return;
    const serving = {
      orders: this.#orders,
      free: this.#free,
      capacity: cluster.capacity,
      reservations: this.#reservations,
      estimates: this.#estimates,
      context: this.#context,
      next: () => this.#next(now),
      start: (stage: StageView, worker: WorkerView) => this.#start(stage, worker, draft, now),
    };
    serve(serving, this.#orderOf.keys(), cluster.workers, now);
  }

  /** The queue furthest below its share; tasks that wait for pilots come after all queues. */
  #next(now: Millis): StageOrder | undefined {
    if (this.#options.by === 'service') this.#moveDown(now);
    const queue = this.#shares.next((of) => this.#isLoaded(of), this.#running);
    if (queue >= 0) return this.#queues[queue];
    return this.#early.size > 0 ? this.#early : undefined;
  }

  #isLoaded(queue: number): boolean {
    return this.#queues[queue]!.size > 0;
  }

  /**
   * Moves the first stages of a queue down while the attained service of their jobs exceeds the queue's
   * limit.
   */
  #moveDown(now: Millis): void {
    for (const [queue, order] of this.#queues.entries()) {
      for (let first = order.first(); first !== undefined; first = order.first()) {
        const present = this.#queueOf(first, now);
        if (present <= queue) break;
        this.#place(first, this.#queues[present]!);
      }
    }
  }

  #start(stage: StageView, worker: WorkerView, draft: Draft, now: Millis): boolean {
    const run = draft.start(stage, worker);
    this.#free.update(worker);
    if (run === undefined) return false;
    const queue = this.#queueOf(stage, now);
    this.#count(run, queue);
    if (stage.waiting === 0) this.#forget(stage);
    if (stage.part !== 'early') this.#shares.took(queue, (of) => this.#isLoaded(of));
    return true;
  }

  #update(stage: StageView, now: Millis): void {
    if (stage.waiting === 0) return this.#forget(stage);
    this.#place(stage, stage.part === 'early' ? this.#early : this.#queues[this.#queueOf(stage, now)]!);
  }

  #place(stage: StageView, order: StageOrder): void {
    const before = this.#orderOf.get(stage);
    if (before !== order) before?.delete(stage);
    this.#orderOf.set(stage, order);
    order.set(stage, stage.job.arrivedAt);
  }

  #forget(stage: StageView): void {
    this.#orderOf.get(stage)?.delete(stage);
    this.#orderOf.delete(stage);
  }

  #count(run: RunView, queue: number): void {
    this.#estimates.started(run);
    this.#queueOfRun.set(run, queue);
    this.#running[queue]!++;
  }

  #uncount(run: RunView): void {
    const queue = this.#queueOfRun.get(run);
    if (queue === undefined) return;
    this.#queueOfRun.delete(run);
    this.#running[queue]!--;
  }

  #queueOf({ part, job, estimateMs }: StageView, now: Millis): number {
    switch (this.#options.by) {
      case 'arrival':
        return 0;
      case 'service':
        return this.#queueOfSize(job.attainedMs(now));
      case 'size':
        if (part === 'thin') return 0;
        if (part === 'judged') return this.#queueOfSize(estimateMs * job.tasks);
        return Math.min(SAMPLING_QUEUE, this.#queues.length - 1);
    }
  }

  /** Queue q contains sizes below base · growth^q, and the last one the rest. */
  #queueOfSize(sizeMs: Millis): number {
    const { baseMs, growth } = this.#options;
    let queue = 0;
    for (let below = baseMs; sizeMs >= below && queue < this.#queues.length - 1; below *= growth) queue++;
    return queue;
  }
}

export const gs: PolicyModule<GsOptions> = {
  title: 'SLearn’s generic scheduler: central places every job, in priority queues by estimated size',
  declares: false,
  options: GS_OPTIONS,
  make: (options, context) => new Gs(options, context),
};

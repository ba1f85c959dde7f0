import { type JobClass, type Millis, SLACK, SLOT } from '@goshawk/core';
import type {
  CentralPolicy,
  ClusterView,
  Draft,
  JobView,
  News,
  PolicyContext,
  PolicyModule,
  QueueLine,
  RunView,
  StageView,
  WorkerView,
} from '../contract.js';
import { FreeWorkers } from '../free-workers.js';
import { KeptWorkers } from '../kept-workers.js';
import { serve } from '../serving.js';
import { StageOrder } from '../stage-order.js';
import { LongTimes } from './long-times.js';
import { LongLimit } from './reserve.js';

/** A job of work W (slot time) is due this many times W ÷ slots after its arrival. */
const STRETCH = 100;
/** A job of so many tasks, as a fraction of the reserve, cannot do much harm while its pilots run. */
const SMALL = 1 / 3;
/** Due times, and who is small, are worked out anew when the cluster has grown or shrunk by more than this fraction. */
const RESIZED = 0.05;
/** Whatever the cutoff, plans that nothing but time asks for are so far apart. ms */
const AGAIN_MIN_MS = 10;
/** The need of short work is averaged over so many cutoffs: about an hour for the Google trace. */
const RESERVE_CUTOFFS = 4;

/** What waits. `small` and `large`: the rest of a job whose class its pilots have yet to show. */
const KINDS = ['pilots', 'short', 'small', 'long', 'large'] as const;
type Kind = (typeof KINDS)[number];
/** What runs and is not known to be short. Pilots count as the rest of their job does. */
type RunningKind = Exclude<Kind, 'pilots' | 'short'>;

/**
 * Goshawk's own policy. What waits is served in the order of virtual due times:
 *
 *     due = arrival + slack · remaining work ÷ slots       remaining work = estimate × tasks without a worker
 *
 * The slack is 100 of a normal job, 8 times that at low priority, an eighth at high. So small jobs come first, and every
 * job has its turn. Long tasks take no more slots than the limit, all but a reserve for short ones. A job whose class
 * is unknown is in the same order if it is small, within the reserve; a large one takes what nobody else does.
 */
export class Goshawk implements CentralPolicy {
  readonly #context: PolicyContext;
  readonly #limit: LongLimit;
  readonly #longTimes = new LongTimes();
  readonly #free = new FreeWorkers();
  readonly #orders: Readonly<Record<Kind, StageOrder>> = {
    pilots: new StageOrder(),
    short: new StageOrder(),
    small: new StageOrder(),
    long: new StageOrder(),
    large: new StageOrder(),
  };
  readonly #allOrders = Object.values(this.#orders);
  /** Of each stage that waits. */
  readonly #kindOf = new Map<StageView, Kind>();
  /** Runs that are not of short jobs, at workers that take work, by id; and how many of each kind. */
  readonly #counted: (RunningKind | undefined)[] = [];
  readonly #running: Record<RunningKind, number> = { small: 0, long: 0, large: 0 };
  /** Stages of which runs were counted before it was known what their job is. */
  readonly #undecided = new Set<StageView>();
  readonly #kept: KeptWorkers;
  #slots = 0;
  /** Those by which due times were worked out. */
  #dueSlots = 1;

  constructor(context: PolicyContext) {
    this.#context = context;
    this.#kept = new KeptWorkers(this.#free, context);
    this.#limit = new LongLimit(context.reserve, RESERVE_CUTOFFS * context.cutoffMs);
  }

  heard(news: readonly News[], now: Millis): void {
    for (const each of news) {
      switch (each.kind) {
        case 'opened':
          this.#opened(each.worker, true);
          break;
        case 'closed':
          this.#opened(each.worker, false);
          break;
        case 'freed':
        case 'shrank':
        case 'left':
          this.#free.update(each.worker);
          break;
        case 'found':
          this.#count(each.run);
          break;
        case 'ended':
          this.#uncount(each.run);
          break;
        case 'changed':
          this.#changed(each.job);
          break;
        case 'waiting':
          this.#update(each.stage, now);
          break;
        case 'gone':
          for (const stage of each.job.stages) {
            this.#forget(stage);
            this.#undecided.delete(stage);
          }
          break;
        case 'shortWork':
          this.#limit.shortCame(each.workMs, now);
          break;
      }
    }
  }

  plan(cluster: ClusterView, draft: Draft, now: Millis): void {
    this.#slots = cluster.capacity[SLOT] ?? 0;
    this.#limit.averageOver(RESERVE_CUTOFFS * this.#context.cutoffMs, now);
    const dueSlots = Math.max(1, this.#slots);
    if (Math.abs(dueSlots - this.#dueSlots) > RESIZED * this.#dueSlots) this.#reorder(dueSlots, now);
    if (this.#kindOf.size > 0 && this.#free.size > 0) this.#serve(draft, now);
    const { long, small, large } = this.#running;
    this.#limit.shortHave(Math.max(0, this.#slots - this.#free.slots - long - small - large), now);
    // By cutoffs.
    if (this.#free.size > 0 && this.#limit.risesWithTime(this.#slots, now) && this.#isLimited(now))
      draft.again(now + Math.max(AGAIN_MIN_MS, Math.min(1_000, this.#context.cutoffMs / 100)));
  }

  line(now: Millis): QueueLine {
    return {
      kindOf: (stage) => {
        const kind = this.#kindOf.get(stage);
        return kind === undefined || kind === 'pilots' ? 'short' : kind;
      },
      comesBefore: (one, other) => {
        const first = this.#kindOf.get(one);
        const second = this.#kindOf.get(other);
        // What has come since the last plan is not in the order yet.
        if (first === undefined || second === undefined) return first !== undefined;
        if ((first === 'large') !== (second === 'large')) return second === 'large';
        return this.#orders[first].keyOf(one) < this.#orders[second].keyOf(other);
      },
      keptFor: (stage) => this.#kept.countFor(stage),
      longRunning: this.#running.long,
      longLimit: this.#limit.of(this.#slots, now),
    };
  }

  // ---- the order

  /** Whose first is the next in the one order that may run; large jobs of unknown class come after all others. */
  #firstOrder(now: Millis): StageOrder | undefined {
    let next: StageOrder | undefined;
    for (const kind of KINDS) {
      if (kind === 'large' && next !== undefined) break;
      const order = this.#orders[kind];
      if (order.size === 0 || !this.#mayRun(kind, now)) continue;
      if (next === undefined || order.firstKey < next.firstKey) next = order;
    }
    return next;
  }

  #serve(draft: Draft, now: Millis): void {
    const serving = {
      orders: this.#allOrders,
      next: () => this.#firstOrder(now),
      mayRun: (stage: StageView) => this.#mayRun(this.#kindOf.get(stage)!, now),
      start: (stage: StageView, worker: WorkerView) => this.#start(stage, worker, draft, now),
    };
    serve(serving, this.#free, this.#kept, this.#context, now);
  }

  #dueAt({ job, part, estimateMs, estimateFollows, waiting }: StageView): Millis {
    // Pilots come before all others: to know a job is worth more than their slots.
    if (part === 'pilots') return Number.NEGATIVE_INFINITY;
    const believedMs = estimateFollows ? this.#longTimes.doubted(estimateMs) : estimateMs;
    return job.arrivedAt + (STRETCH * SLACK[job.priority] * believedMs * waiting) / this.#dueSlots;
  }

  #reorder(dueSlots: number, now: Millis): void {
    this.#dueSlots = dueSlots;
    for (const [stage, kind] of this.#kindOf)
      this.#place(stage, isDecided(kind) ? kind : this.#kind(stage, now));
  }

  #update(stage: StageView, now: Millis): void {
    if (stage.part !== 'early' && this.#undecided.delete(stage))
      for (const run of stage.job.runs) this.#recount(run);
    if (stage.waiting === 0) return this.#forget(stage);
    const before = this.#kindOf.get(stage);
    const kind =
      before !== undefined && isDecided(before) === (stage.part === 'judged' || stage.part === 'thin')
        ? before
        : this.#kind(stage, now);
    if (before === undefined && kind === 'short' && this.#context.sizesAreGiven)
      this.#limit.shortCame(stage.estimateMs * stage.waiting, now);
    if (classOf(stage) === 'long' && !stage.estimateFollows)
      this.#longTimes.learn(stage.job, stage.estimateMs);
    this.#place(stage, isDecided(kind) ? classOf(stage) : kind);
    this.#kept.waits(stage);
  }

  #place(stage: StageView, kind: Kind): void {
    const before = this.#kindOf.get(stage);
    if (before !== undefined && before !== kind) this.#orders[before].delete(stage);
    this.#kindOf.set(stage, kind);
    this.#orders[kind].set(stage, this.#dueAt(stage));
  }

  #kind(stage: StageView, now: Millis): Kind {
    if (stage.part === 'pilots') return 'pilots';
    if (stage.part !== 'early') return classOf(stage);
    return stage.waiting <= SMALL * (this.#slots - this.#limit.of(this.#slots, now)) ? 'small' : 'large';
  }

  #forget(stage: StageView): void {
    const kind = this.#kindOf.get(stage);
    if (kind === undefined) return;
    this.#orders[kind].delete(stage);
    this.#kindOf.delete(stage);
    this.#kept.forget(stage);
  }

  // ---- who may run

  /** Something waits that may not run. */
  #isLimited(now: Millis): boolean {
    return KINDS.some((kind) => this.#orders[kind].size > 0 && !this.#mayRun(kind, now));
  }

  #mayRun(kind: Kind, now: Millis): boolean {
    if (kind === 'short') return true;
    const limit = this.#limit.of(this.#slots, now);
    const { long, small, large } = this.#running;
    if (kind === 'long') return long < limit;
    if (kind === 'pilots') return long + small + large < this.#slots - this.#limit.lastSlot(this.#slots);
    if (long + small + large < limit) return true;
    return kind === 'small' && small + Math.max(0, long - limit) < this.#slots - limit;
  }

  /** @returns whether it could be made */
  #start(stage: StageView, worker: WorkerView, draft: Draft, now: Millis): boolean {
    const run = draft.start(stage, worker);
    this.#free.update(worker);
    if (run === undefined) return false;
    this.#count(run);
    this.#update(stage, now);
    return true;
  }

  // ---- what runs

  #opened(worker: WorkerView, open: boolean): void {
    this.#free.update(worker);
    for (const run of worker.runs) {
      if (open) this.#count(run);
      else this.#uncount(run);
    }
  }

  #changed(job: JobView): void {
    for (const run of job.runs) this.#recount(run);
    for (const stage of job.stages) {
      const kind = this.#kindOf.get(stage);
      if (kind !== undefined && isDecided(kind)) this.#place(stage, classOf(stage));
    }
  }

  /** Another thing may be known of its job than when it was counted. */
  #recount(run: RunView): void {
    const before = this.#counted[run.id];
    if (before !== undefined && run.stage.part === 'early') return;
    this.#uncount(run);
    this.#count(run);
  }

  #count(run: RunView): void {
    const { stage, worker } = run;
    if (!worker.open || this.#counted[run.id] !== undefined) return;
    const early = earlyStageOf(stage);
    const kind = early === undefined ? classOf(stage) : (this.#kindOf.get(early) ?? 'large');
    if (early !== undefined) this.#undecided.add(early);
    if (kind === 'short' || kind === 'pilots') return;
    this.#counted[run.id] = kind;
    this.#running[kind]++;
  }

  #uncount(run: RunView): void {
    const kind = this.#counted[run.id];
    if (kind === undefined) return;
    this.#counted[run.id] = undefined;
    this.#running[kind]--;
  }
}

function classOf({ job }: StageView): JobClass {
  return job.long ? 'long' : 'short';
}

/** By which a run counts until the class of its job is known: pilots count as the rest of their job does. */
function earlyStageOf(stage: StageView): StageView | undefined {
  if (stage.part === 'early') return stage;
  return stage.part === 'pilots' ? stage.job.stages.find(({ part }) => part === 'early') : undefined;
}

/** Its class is known. */
function isDecided(kind: Kind): boolean {
  return kind === 'short' || kind === 'long';
}

export const goshawk: PolicyModule<Record<never, never>> = {
  title: 'one order of virtual due times, a reserve for short jobs',
  declares: false,
  options: {},
  make: (_, context) => new Goshawk(context),
};

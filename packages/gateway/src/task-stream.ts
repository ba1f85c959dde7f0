import type { ClusterView, ClusterWaiting } from '@goshawk/client';
import { type JobDetail, type LendingView, type Millis, sumOf, taskAddress } from '@goshawk/core';

/** Retention (ms), and length of a bucket. */
export const STREAM_MS = 3_600_000;
export const BUCKET_MS = 10_000;
const BUCKETS = STREAM_MS / BUCKET_MS;
/** Maximum number of retained attempts: about 4 MB. */
export const BARS_MAX = 20_000;
/** Maximum number of attempts in one response: about 60 kB. */
export const BARS_SHOWN_MAX = 1_500;
/** Time (ms) for which an attempt counts as running after its last observation. */
const RUNNING_AFTER_SEEN_MS = 60_000;
/** Load of a lost worker. No worker has as many CPUs. */
const LOST = 65_535;
/** Loads are kept in this fraction of a CPU. */
const PER_CPU = 10;

export const BAR_STATES = ['running', 'completed', 'failed', 'lost', 'cancelled', 'unknown'] as const;
type BarState = (typeof BAR_STATES)[number];

/** One attempt, as last observed. Times are ms since 1970. */
export interface Bar {
  readonly job: string;
  readonly name: string;
  readonly user: string | undefined;
  readonly task: number;
  readonly attempt: number;
  readonly worker: string;
  readonly from: Millis;
  /** End of the run. While the attempt runs, the time of its last observation. */
  to: Millis;
  /** Time in which the attempt was paused. ms */
  pausedMs: Millis;
  /** Whether it is paused at present. */
  isPaused: boolean;
  /** Tasks that are paused for it at present, `JOB/TASK`. */
  lenders: readonly string[];
  state: BarState;
  readonly demand: Readonly<Record<string, number>>;
}

/** Load of a worker in a ring buffer of buckets. 0: unknown; otherwise 1 + `PER_CPU` × the CPUs that its tasks request. */
type Load = Uint16Array;

/**
 * Attempts and load of all workers in the last hour. Attempts are a bounded sample from schedulers. The load
 * is from central and complete, so that a gap in the sample does not look like an idle worker.
 */
export class TaskStream {
  /** Sampled attempts, oldest first. */
  readonly #bars = new Map<string, Bar>();
  readonly #loads = new Map<string, Load>();
  /** Free slots that are reserved for short tasks, in a ring buffer of buckets; −1: unknown. */
  readonly #reserved = new Int32Array(BUCKETS).fill(-1);
  /** Buckets in which attempts ran that are not in `#bars`, in a ring buffer. */
  readonly #partial = new Uint8Array(BUCKETS);
  #bucket: number | undefined;
  #since = Number.POSITIVE_INFINITY;

  /** Wall clock of the first observation; infinite before. */
  get since(): Millis {
    return this.#since;
  }

  get size(): number {
    return this.#bars.size;
  }

  /** @param now wall clock */
  record(
    view: Pick<ClusterView, 'workers' | 'lostWorkers'>,
    central: ClusterWaiting['central'],
    now: Millis,
  ): void {
    const bucket = Math.floor(now / BUCKET_MS);
    this.#advance(bucket);
    this.#since = Math.min(this.#since, now);
    const at = bucket % BUCKETS;
    for (const { name, busy, cpus = busy } of view.workers) {
      const load = this.#loadOf(name);
      const before = load[at]!;
      const now = 1 + Math.round(PER_CPU * cpus);
      load[at] = Math.min(LOST - 1, before === LOST ? now : Math.max(before, now));
    }
    for (const { name } of view.lostWorkers) {
      const load = this.#loadOf(name);
      if (load[at] === 0) load[at] = LOST;
    }
    if (central === undefined) return;
    const long = sumOf(view.workers, (worker) => worker.long ?? 0);
    const forLong = Math.max(0, central.longLimit - long);
    this.#reserved[at] = Math.max(0, central.freeSlots - forLong);
  }

  #loadOf(worker: string): Load {
    let load = this.#loads.get(worker);
    if (load === undefined) {
      load = new Uint16Array(BUCKETS);
      this.#loads.set(worker, load);
    }
    return load;
  }

  /**
   * Takes the attempts of a job.
   *
   * @param asked wall clock at the request to the scheduler
   * @param now wall clock at the reply
   */
  take(job: JobDetail, asked: Millis, now: Millis): void {
    const stages = job.stages;
    const seen = new Set<string>();
    const add = (
      task: number,
      attempt: number,
      state: BarState,
      worker: string,
      from: Millis,
      to: Millis,
      { pausedMs = 0, lentTo, toChild = false, borrows, borrowedFrom = [] }: LendingView,
    ): void => {
      const isPaused = lentTo !== undefined && !toChild;
      const lenders = borrows ? borrowedFrom.map(taskAddress) : [];
      if (worker === '' || to < now - STREAM_MS) return;
      const key = `${job.id}/${task}/${attempt}`;
      seen.add(key);
      const known = this.#bars.get(key);
      if (known !== undefined) {
        known.state = state;
        known.to = Math.max(known.from, to);
        known.pausedMs = pausedMs;
        known.isPaused = isPaused;
        known.lenders = lenders;
        return;
      }
      const { id, name, user } = job;
      this.#bars.set(key, {
        ...{ job: id, name, user, task, attempt, worker, from, to, pausedMs, isPaused, lenders, state },
        demand: demandOf(stages, task),
      });
    };
    for (const each of job.attemptList) {
      const { task, attempt, state, worker, startedMs, runMs, pausedMs = 0 } = each;
      const from = job.submittedAt + startedMs;
      add(task, attempt, stateOf(state), worker, from, from + runMs + pausedMs, each);
    }
    for (const each of job.running) {
      const { task, attempt, worker, elapsedMs, pausedMs = 0 } = each;
      if (!seen.has(`${job.id}/${task}/${attempt}`))
        add(task, attempt, 'running', worker, asked - elapsedMs - pausedMs, asked, each);
    }
    const { firstStartMs, endedMs } = job;
    if (job.attemptsTruncated && firstStartMs !== undefined)
      this.leftOut(job.submittedAt + firstStartMs, endedMs === undefined ? now : job.submittedAt + endedMs);
    const listsAllRunning = job.running.length >= job.tasks.running;
    if (listsAllRunning) {
      // The attempt has ended since its last observation, and the list does not contain the end.
      for (const [key, bar] of this.#bars)
        if (bar.job === job.id && bar.state === 'running' && !seen.has(key)) bar.state = 'unknown';
    }
    for (const [key, { to }] of this.#bars) {
      if (this.#bars.size <= BARS_MAX && to >= now - STREAM_MS) break;
      this.#bars.delete(key);
    }
  }

  /** Some attempts that ran between these times are not in the sample. Wall clock. */
  leftOut(from: Millis, to: Millis): void {
    const newest = this.#bucket ?? Number.NEGATIVE_INFINITY;
    const first = Math.max(Math.floor(from / BUCKET_MS), newest - BUCKETS + 1);
    for (let bucket = first; bucket <= Math.min(newest, Math.floor(to / BUCKET_MS)); bucket++)
      this.#partial[bucket % BUCKETS] = 1;
  }

  /** Returns for each bucket of the window whether attempts may have run that are not in the sample. */
  partial(from: Millis, to: Millis): boolean[] {
    return this.#buckets(from, to, (at) => this.#partial[at] === 1).map((is) => is === true);
  }

  /**
   * Returns the attempts that were observed running at the worker within the last minute.
   *
   * @param now wall clock
   */
  runningAt(worker: string, now: Millis): Bar[] {
    const since = now - RUNNING_AFTER_SEEN_MS;
    return [...this.#bars.values()].filter(
      (bar) => bar.worker === worker && bar.state === 'running' && bar.to >= since,
    );
  }

  /** Returns the sampled attempts that failed at a worker, in the order of their observation. */
  failedAt(worker: string): Bar[] {
    return [...this.#bars.values()].filter((bar) => bar.worker === worker && bar.state === 'failed');
  }

  /**
   * Returns the attempts at these workers within a window and their number; if there are too many, only the
   * longest.
   */
  barsOf(workers: ReadonlySet<string>, from: Millis, to: Millis): { bars: Bar[]; total: number } {
    const found = [...this.#bars.values()].filter(
      (bar) => workers.has(bar.worker) && bar.to >= from && bar.from <= to,
    );
    const total = found.length;
    if (total > BARS_SHOWN_MAX) {
      const length = (bar: Bar) => Math.min(bar.to, to) - Math.max(bar.from, from);
      found.sort((one, other) => length(other) - length(one));
      found.length = BARS_SHOWN_MAX;
    }
    return { bars: found, total };
  }

  /** Names of the workers that were present within the last hour. */
  get workers(): IterableIterator<string> {
    return this.#loads.keys();
  }

  /**
   * Returns the maximum number of CPUs that running tasks request in each bucket of the window. null: unknown;
   * −1: the worker was lost.
   */
  loadOf(worker: string, from: Millis, to: Millis): (number | null)[] {
    const load = this.#loads.get(worker);
    return this.#buckets(from, to, (at) => {
      const value = load?.[at] ?? 0;
      return value === 0 ? null : value === LOST ? -1 : (value - 1) / PER_CPU;
    });
  }

  /** Returns the free slots that are reserved for short tasks, by bucket. null: unknown. */
  reserved(from: Millis, to: Millis): (number | null)[] {
    return this.#buckets(from, to, (at) => (this.#reserved[at]! < 0 ? null : this.#reserved[at]!));
  }

  #buckets<T>(from: Millis, to: Millis, of: (at: number) => T): (T | null)[] {
    const first = Math.floor(from / BUCKET_MS);
    const last = Math.floor(to / BUCKET_MS);
    const newest = this.#bucket ?? Number.NEGATIVE_INFINITY;
    return Array.from({ length: Math.min(BUCKETS + 1, last - first + 1) }, (_, index) => {
      const bucket = first + index;
      return bucket > newest || bucket <= newest - BUCKETS ? null : of(bucket % BUCKETS);
    });
  }

  /** Advances to a bucket, and clears the buckets between, which have no observations. */
  #advance(bucket: number): void {
    const before = this.#bucket ?? bucket - 1;
    if (bucket < before) {
      // After the clock was set back, all data is discarded.
      this.#loads.clear();
      this.#reserved.fill(-1);
      this.#partial.fill(0);
      this.#since = bucket * BUCKET_MS;
    }
    this.#bucket = bucket;
    const fresh = Math.min(BUCKETS, bucket - before);
    for (let step = 0; step < fresh; step++) {
      const at = (bucket - step) % BUCKETS;
      this.#reserved[at] = -1;
      this.#partial[at] = 0;
      for (const load of this.#loads.values()) load[at] = 0;
    }
    if (fresh > 0)
      for (const [name, load] of this.#loads)
        if (load.every((value) => value === 0 || value === LOST)) this.#loads.delete(name);
  }
}

/** CPUs that an attempt requests. */
export function cpusOf({ demand }: Pick<Bar, 'demand'>): number {
  return demand.cpu ?? 1;
}

function stateOf(state: string): BarState {
  return (BAR_STATES as readonly string[]).includes(state) ? (state as BarState) : 'unknown';
}

/** Returns the demand of a task. Tasks are numbered stage by stage. */
function demandOf(stages: JobDetail['stages'], task: number): Readonly<Record<string, number>> {
  let first = 0;
  for (const { tasks, demand } of stages) {
    first += tasks;
    if (task < first) return demand;
  }
  return {};
}

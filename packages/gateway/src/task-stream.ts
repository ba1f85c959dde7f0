import type { ClusterView, ClusterWaiting } from '@goshawk/client';
import { type JobDetail, type Millis, sumOf } from '@goshawk/core';

/** Retention (ms), in buckets. */
export const STREAM_MS = 3_600_000;
export const BUCKET_MS = 10_000;
const BUCKETS = STREAM_MS / BUCKET_MS;
/** Maximum number of retained attempts: about 4 MB. */
export const BARS_MAX = 20_000;
/** Maximum number of attempts in one response: about 60 kB. */
export const BARS_SHOWN_MAX = 1_500;
/** An attempt counts as running for this long (ms) after it was last observed. */
const SEEN_MS = 60_000;
/** Larger than any number of tasks on a worker. */
const LOST = 65_535;

export const BAR_STATES = ['running', 'completed', 'failed', 'lost', 'cancelled', 'unknown'] as const;
export type BarState = (typeof BAR_STATES)[number];

/** One attempt, as last observed. Times are wall clock, ms since 1970. */
export interface Bar {
  readonly job: string;
  readonly name: string;
  readonly user: string | undefined;
  readonly task: number;
  readonly attempt: number;
  readonly worker: string;
  readonly from: Millis;
  /** End of the run; for a running one, the time of the last observation. */
  to: Millis;
  state: BarState;
  readonly demand: Readonly<Record<string, number>>;
}

/** Load of a worker per bucket, as a ring buffer. 0: unknown; otherwise running tasks, plus one. */
type Load = Uint16Array;

/**
 * An hour of what ran where. Attempts are a bounded sample from schedulers; the load of every worker is from central and
 * complete, so that a gap in the sample does not look like an idle worker.
 */
export class TaskStream {
  /** Oldest first. */
  readonly #bars = new Map<string, Bar>();
  readonly #loads = new Map<string, Load>();
  /** Free slots reserved for short tasks, per bucket in a ring buffer; −1: unknown. */
  readonly #reserved = new Int32Array(BUCKETS).fill(-1);
  #bucket: number | undefined;

  get size(): number {
    return this.#bars.size;
  }

  /** @param now wall clock */
  look(
    view: Pick<ClusterView, 'workers' | 'lostWorkers'>,
    central: ClusterWaiting['central'],
    now: Millis,
  ): void {
    const bucket = Math.floor(now / BUCKET_MS);
    this.#advance(bucket);
    const at = bucket % BUCKETS;
    for (const { name, busy } of view.workers) {
      let load = this.#loads.get(name);
      if (load === undefined) {
        load = new Uint16Array(BUCKETS);
        this.#loads.set(name, load);
      }
      const before = load[at]!;
      load[at] = Math.min(LOST - 1, before === LOST ? 1 + busy : Math.max(before, 1 + busy));
    }
    for (const { name } of view.lostWorkers) {
      const load = this.#loads.get(name);
      if (load !== undefined && load[at] === 0) load[at] = LOST;
    }
    if (central === undefined) return;
    const long = sumOf(view.workers, (worker) => worker.long ?? 0);
    const forLong = Math.max(0, central.longLimit - long);
    this.#reserved[at] = Math.max(0, central.freeSlots - forLong);
  }

  /**
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
    ): void => {
      if (worker === '' || to < now - STREAM_MS) return;
      const key = `${job.id}/${task}/${attempt}`;
      seen.add(key);
      const known = this.#bars.get(key);
      if (known !== undefined) {
        known.state = state;
        known.to = Math.max(known.from, to);
        return;
      }
      const { id, name, user } = job;
      this.#bars.set(key, {
        ...{ job: id, name, user, task, attempt, worker, from, to, state },
        demand: demandOf(stages, task),
      });
    };
    for (const { task, attempt, state, worker, startedMs, runMs } of job.attemptList) {
      const from = job.submittedAt + startedMs;
      add(task, attempt, stateOf(state), worker, from, from + runMs);
    }
    for (const { task, attempt, worker, elapsedMs } of job.running) {
      if (!seen.has(`${job.id}/${task}/${attempt}`))
        add(task, attempt, 'running', worker, asked - elapsedMs, asked);
    }
    const listsAllRunning = job.running.length >= job.tasks.running;
    if (listsAllRunning) {
      // It has ended since the last observation, and the list does not contain its end.
      for (const [key, bar] of this.#bars)
        if (bar.job === job.id && bar.state === 'running' && !seen.has(key)) bar.state = 'unknown';
    }
    for (const [key, { to }] of this.#bars) {
      if (this.#bars.size <= BARS_MAX && to >= now - STREAM_MS) break;
      this.#bars.delete(key);
    }
  }

  /** Attempts observed running at the worker within the last minute. @param now wall clock */
  runningAt(worker: string, now: Millis): Bar[] {
    const since = now - SEEN_MS;
    return [...this.#bars.values()].filter(
      (bar) => bar.worker === worker && bar.state === 'running' && bar.to >= since,
    );
  }

  /** Attempts at these workers within a window, the longest ones if there are too many, and their total. */
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

  /** Names of workers present within the hour. */
  get workers(): IterableIterator<string> {
    return this.#loads.keys();
  }

  /** Maximum number of running tasks, per bucket of the window. Null: unknown; −1: the worker was lost. */
  loadOf(worker: string, from: Millis, to: Millis): (number | null)[] {
    const load = this.#loads.get(worker);
    return this.#buckets(from, to, (at) => {
      const value = load?.[at] ?? 0;
      return value === 0 ? null : value === LOST ? -1 : value - 1;
    });
  }

  /** Free slots reserved for short tasks, per bucket. Null: unknown. */
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

  /** Clears buckets without an observation. */
  #advance(bucket: number): void {
    const before = this.#bucket ?? bucket - 1;
    if (bucket < before) {
      // The clock was set back: discard everything ahead of it.
      this.#loads.clear();
      this.#reserved.fill(-1);
    }
    this.#bucket = bucket;
    const fresh = Math.min(BUCKETS, bucket - before);
    for (let step = 0; step < fresh; step++) {
      const at = (bucket - step) % BUCKETS;
      this.#reserved[at] = -1;
      for (const load of this.#loads.values()) load[at] = 0;
    }
    if (fresh > 0)
      for (const [name, load] of this.#loads)
        if (load.every((value) => value === 0 || value === LOST)) this.#loads.delete(name);
  }
}

function stateOf(state: string): BarState {
  return (BAR_STATES as readonly string[]).includes(state) ? (state as BarState) : 'unknown';
}

/** Tasks are numbered stage by stage. */
function demandOf(stages: JobDetail['stages'], task: number): Readonly<Record<string, number>> {
  let first = 0;
  for (const { tasks, demand } of stages) {
    first += tasks;
    if (task < first) return demand;
  }
  return {};
}

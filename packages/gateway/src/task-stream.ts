import type { ClusterView, ClusterWaiting } from '@goshawk/client';
import { type JobDetail, type Millis, sumOf } from '@goshawk/core';

/** The past that is kept, in buckets. ms */
export const STREAM_MS = 3_600_000;
export const BUCKET_MS = 10_000;
const BUCKETS = STREAM_MS / BUCKET_MS;
/** Sampled attempts that are kept: about 4 MB. */
export const BARS_MAX = 20_000;
/** Attempts in one answer: about 60 kB. */
export const BARS_SHOWN_MAX = 1_500;
/** A running attempt counts as running for so long after it was seen. ms */
const SEEN_MS = 60_000;
/** Above all percentages. */
const LOST = 255;

export const BAR_STATES = ['running', 'completed', 'failed', 'lost', 'cancelled', 'unknown'] as const;
export type BarState = (typeof BAR_STATES)[number];

/** One attempt, as it was last seen. Times are wall clock, ms since 1970. */
export interface Bar {
  readonly job: string;
  readonly name: string;
  readonly user: string | undefined;
  readonly task: number;
  readonly attempt: number;
  readonly worker: string;
  readonly from: Millis;
  /** End of the run; for a running one, when it was last seen. */
  to: Millis;
  state: BarState;
  readonly demand: Readonly<Record<string, number>>;
}

/** Load of a worker per bucket, in a ring. 0: unknown; 1 to 101: busy slots in percent, plus one. */
type Load = Uint8Array;

/**
 * An hour of what ran where. Attempts are a sample, bounded in number, of what schedulers tell about some jobs; the load of
 * every worker comes from central and is complete, so that a gap in the sample does not look like an idle worker.
 */
export class TaskStream {
  /** Oldest first. */
  readonly #bars = new Map<string, Bar>();
  readonly #loads = new Map<string, Load>();
  /** Free slots that long tasks may not take, per bucket in a ring; −1: unknown. */
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
    for (const { name, slots, busy } of view.workers) {
      let load = this.#loads.get(name);
      if (load === undefined) {
        load = new Uint8Array(BUCKETS);
        this.#loads.set(name, load);
      }
      const percent = Math.min(100, Math.round((100 * busy) / Math.max(slots, busy, 1)));
      const before = load[at]!;
      load[at] = before === LOST ? 1 + percent : Math.max(before, 1 + percent);
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
   * @param asked wall clock when the scheduler was asked
   * @param now wall clock when it answered
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
      // It ran when it was last seen, and runs no more; the list does not have how it ended.
      for (const [key, bar] of this.#bars)
        if (bar.job === job.id && bar.state === 'running' && !seen.has(key)) bar.state = 'unknown';
    }
    for (const [key, { to }] of this.#bars) {
      if (this.#bars.size <= BARS_MAX && to >= now - STREAM_MS) break;
      this.#bars.delete(key);
    }
  }

  /** Attempts that were seen running at the worker within the last minute. @param now wall clock */
  runningAt(worker: string, now: Millis): Bar[] {
    const since = now - SEEN_MS;
    return [...this.#bars.values()].filter(
      (bar) => bar.worker === worker && bar.state === 'running' && bar.to >= since,
    );
  }

  /** Attempts at these workers within a window, the longest ones where there are too many, and how many there are. */
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

  /** Names of workers that were there within the hour. */
  get workers(): IterableIterator<string> {
    return this.#loads.keys();
  }

  /** Busy slots in percent per bucket from the one of `from` to that of `to`. Null: unknown; −1: the worker was lost. */
  loadOf(worker: string, from: Millis, to: Millis): (number | null)[] {
    const load = this.#loads.get(worker);
    return this.#buckets(from, to, (at) => {
      const value = load?.[at] ?? 0;
      return value === 0 ? null : value === LOST ? -1 : value - 1;
    });
  }

  /** Free slots that only short tasks could take, per bucket. Null: unknown. */
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

  /** Clears the buckets that no look has filled. */
  #advance(bucket: number): void {
    const before = this.#bucket ?? bucket - 1;
    if (bucket < before) {
      // The clock was set back: what was ahead of it is forgotten.
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

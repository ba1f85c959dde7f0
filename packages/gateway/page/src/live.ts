import { type ApiError, follow } from './api.js';
import type { Overview, Point, Worker, WorkerDelta } from './shapes.js';

const STATES = ['active', 'draining', 'drained', 'quarantined', 'lost'] as const;
const HISTORY_SECONDS = 3_600;

/** State of the cluster as the gateway sends it, in one stream for all parts of the page. */
export class Live {
  overview: Overview | undefined;
  /** Time of the last update, by `performance.now()`. */
  updatedAt = 0;
  points: Point[] = [];
  readonly workers = new Map<number, Worker>();
  readonly #listeners = new Set<() => void>();
  readonly #stop = new AbortController();

  /** @param state called with the problem of the connection; null: connected */
  start(state: (problem: ApiError | null) => void): void {
    void follow('/v1/events', { state, event: (name, data) => this.#take(name, data) }, this.#stop.signal);
  }

  /**
   * Calls the listener after each update, and immediately if an update has arrived, until the signal is
   * aborted.
   */
  onUpdate(signal: AbortSignal, listener: () => void): void {
    this.#listeners.add(listener);
    signal.addEventListener('abort', () => this.#listeners.delete(listener));
    if (this.overview !== undefined) listener();
  }

  #take(name: string, data: unknown): void {
    if (name === 'overview') this.overview = data as Overview;
    if (name === 'history') this.#addPoints(data as { reset: boolean; points: Point[] });
    // `workers` is the last event of each update.
    if (name !== 'workers') return;
    this.#change(data as WorkerDelta);
    this.updatedAt = performance.now();
    for (const listener of [...this.#listeners]) {
      // An exception in one part must not stop the other parts.
      try {
        listener();
      } catch (error) {
        reportError(error);
      }
    }
  }

  #addPoints({ reset, points }: { reset: boolean; points: Point[] }): void {
    const all = reset ? points : [...this.points, ...points];
    const newest = all.at(-1)?.at ?? 0;
    this.points = all.filter(({ at }) => at > newest - HISTORY_SECONDS);
  }

  #change({ reset, born, now }: WorkerDelta): void {
    if (reset) this.workers.clear();
    const none = { state: 'active', busy: 0, long: -1, queued: 0 };
    for (const [id, name, slots, isShort] of born) {
      this.workers.set(id, { ...none, name, slots, isShort: isShort === 1 });
    }
    for (const [id, state, busy, long, queued] of now) {
      const worker = this.workers.get(id);
      if (worker !== undefined)
        this.workers.set(id, { ...worker, state: STATES[state]!, busy, long, queued });
    }
  }
}

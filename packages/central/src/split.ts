import { isActive, type Side, type WorkerRecord } from './registry.js';

/**
 * How the cluster is split at present: over the workers that take work, in the order in which they joined.
 * Kept in step worker by worker, since thousands of them may join at once.
 */
export class Split {
  /** Workers that take work. */
  active = 0;
  /** Those of them in the short partition. */
  short = 0;
  readonly #joined: WorkerRecord[] = [];

  /** In the order in which they joined; also those that take no work. */
  get joined(): readonly WorkerRecord[] {
    return this.#joined;
  }

  /** The worker is new, or something about it has changed. */
  update(worker: WorkerRecord): void {
    const before = worker.side;
    const side = sideOf(worker);
    if (side === before) return;
    if (before === undefined) this.#joined.push(worker);
    else this.#count(before, -1);
    this.#count(side, 1);
    worker.side = side;
  }

  remove(worker: WorkerRecord): void {
    this.#count(worker.side ?? 'inactive', -1);
    worker.side = undefined;
    const place = this.#joined.indexOf(worker);
    if (place >= 0) this.#joined.splice(place, 1);
  }

  #count(side: Side, change: 1 | -1): void {
    if (side !== 'inactive') this.active += change;
    if (side === 'short') this.short += change;
  }
}

function sideOf(worker: WorkerRecord): Side {
  return isActive(worker) ? worker.partition : 'inactive';
}

import { fitsIn, type Vector } from '../resources/vector.js';
import type { Attributes } from './attributes.js';
import type { Needs } from './needs.js';

interface Worker {
  readonly id: number;
  readonly capacity: Vector;
  readonly attributes: Attributes;
}

/** Workers with equal capacity and attributes, so that all of them can run the same tasks. */
interface Kind<W> {
  readonly model: Worker;
  readonly workers: Set<W>;
}

/** The kinds whose workers could run tasks with these needs, among the first `seen` kinds. */
interface Feasible<W> {
  readonly needs: Needs;
  seen: number;
  readonly kinds: Kind<W>[];
}

/** Up to this many kinds without workers are never dropped, because a worker that restarts is of the same kind. */
const EMPTY_MAX = 64;

/**
 * Finds the workers that could run a task if nothing else ran there. Workers are indexed by kind, so that needs are
 * compared once with each kind, not with each worker.
 */
export class FeasibleWorkers<W extends Worker> {
  readonly #byKey = new Map<string, Kind<W>>();
  #kinds: Kind<W>[] = [];
  /** Number of workers. */
  #size = 0;
  /** Number of kinds without workers. */
  #empty = 0;
  /** Answers by id of needs; ids are reused. */
  #feasible: (Feasible<W> | undefined)[] = [];

  get size(): number {
    return this.#size;
  }

  add(worker: W): void {
    const key = keyOf(worker);
    let kind = this.#byKey.get(key);
    if (kind === undefined) {
      kind = { model: worker, workers: new Set() };
      this.#byKey.set(key, kind);
      this.#kinds.push(kind);
    } else if (kind.workers.size === 0) this.#empty--;
    kind.workers.add(worker);
    this.#size++;
  }

  delete(worker: W): void {
    const kind = this.#byKey.get(keyOf(worker));
    if (kind?.workers.delete(worker) !== true) return;
    this.#size--;
    if (kind.workers.size > 0) return;
    this.#empty++;
    if (this.#empty > EMPTY_MAX && 2 * this.#empty > this.#kinds.length) this.#dropEmpty();
  }

  /** Returns whether any worker could run a task with these needs. */
  has(needs: Needs): boolean {
    return this.#kindsFor(needs).some(({ workers }) => workers.size > 0);
  }

  /** Returns the workers that could run a task with these needs, in any order. */
  *for(needs: Needs): Iterable<W> {
    for (const { workers } of this.#kindsFor(needs)) yield* workers;
  }

  /** Returns all workers, in any order. */
  *all(): Iterable<W> {
    for (const { workers } of this.#kinds) yield* workers;
  }

  #kindsFor(needs: Needs): readonly Kind<W>[] {
    let feasible = this.#feasible[needs.id];
    if (feasible?.needs !== needs) {
      feasible = { needs, seen: 0, kinds: [] };
      this.#feasible[needs.id] = feasible;
    }
    for (; feasible.seen < this.#kinds.length; feasible.seen++) {
      const kind = this.#kinds[feasible.seen]!;
      const { model } = kind;
      if (fitsIn(needs.demand, model.capacity) && needs.permits(model)) feasible.kinds.push(kind);
    }
    return feasible.kinds;
  }

  #dropEmpty(): void {
    for (const [key, { workers }] of this.#byKey) if (workers.size === 0) this.#byKey.delete(key);
    this.#kinds = [...this.#byKey.values()];
    this.#empty = 0;
    this.#feasible = [];
  }
}

function keyOf({ capacity, attributes }: Worker): string {
  return `${capacity.join()} ${JSON.stringify(attributes)}`;
}

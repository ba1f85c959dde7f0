import { ONE_CPU, type Vector } from '../resources/vector.js';
import { DenseIds } from '../structures/dense-ids.js';
import { type Attributes, mayRun, type Spread, spreadOf } from './attributes.js';

/** The requirements of a task on its worker. Interned: equal needs are one object, so they compare by identity. */
export class Needs {
  /** Small and dense; reused once nothing has these needs. */
  readonly id: number;
  readonly demand: Vector;
  /** Attributes that a worker must have; undefined: any worker is eligible. */
  readonly requires: Attributes | undefined;
  /** Attributes over whose values the tasks of a job spread; undefined: none. */
  readonly spread: readonly Spread[] | undefined;

  constructor(id: number, demand: Vector, requires: Attributes | undefined) {
    this.id = id;
    this.demand = demand;
    this.requires = requires;
    this.spread = spreadOf(requires);
  }

  /** Whether every worker with a free CPU will do, because nothing is requested. */
  get isPlain(): boolean {
    return this.demand === ONE_CPU && this.requires === undefined;
  }

  /** Whether the worker has the attributes; see also `isPermitted` of the policies. */
  permits(worker: { readonly attributes?: Attributes | undefined }): boolean {
    return mayRun(worker, this);
  }
}

/** All needs in use. */
export class NeedsTable {
  readonly #byKey = new Map<string, { readonly needs: Needs; users: number }>();
  readonly #ids = new DenseIds();

  /** Number of different needs in use. */
  get size(): number {
    return this.#byKey.size;
  }

  /** Returns the shared object with this value and counts a reference to it; `release` removes one. */
  take(demand: Vector, requires?: Attributes): Needs {
    const key = keyOf(demand, requires);
    let entry = this.#byKey.get(key);
    if (entry === undefined) {
      entry = { needs: new Needs(this.#ids.take(), demand, requires), users: 0 };
      this.#byKey.set(key, entry);
    }
    entry.users++;
    return entry.needs;
  }

  release({ id, demand, requires }: Needs): void {
    const key = keyOf(demand, requires);
    const entry = this.#byKey.get(key)!;
    if (--entry.users > 0) return;
    this.#byKey.delete(key);
    this.#ids.release(id);
  }
}

/** Requesting nothing has its own key: it means one CPU only at workers that state their CPUs. */
function keyOf(demand: Vector, requires: Attributes | undefined): string {
  const amounts = demand === ONE_CPU ? '' : demand.join();
  if (requires === undefined) return amounts;
  const wishes = Object.entries(requires).sort(([one], [other]) => (one < other ? -1 : 1));
  return `${amounts} ${JSON.stringify(wishes)}`;
}

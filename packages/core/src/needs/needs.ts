import { GPU } from '../resources/resources.js';
import { ONE_CPU, type ResourceNames, unitsOf, type Vector } from '../resources/vector.js';
import { DenseIds } from '../structures/dense-ids.js';
import { type Attributes, mayRun, type Spread, spreadOf } from './attributes.js';

/** The requirements of a task on its worker. Interned: equal needs are one object, so they compare by identity. */
export class Needs {
  /** Small and dense; reused once nothing has these needs. */
  readonly id: number;
  readonly demand: Vector;
  /**
   * Shares and limits count these amounts. A part of a GPU is a whole one if the task selects its worker, because other tasks of
   * its user may hold parts of other GPUs.
   */
  readonly counted: Vector;
  /** Attributes that a worker must have; undefined: any worker is eligible. */
  readonly requires: Attributes | undefined;
  /** Attributes over whose values the tasks of a job spread; undefined: none. */
  readonly spread: readonly Spread[] | undefined;

  /** @param gpuAt index of GPUs, if there are any */
  constructor(id: number, demand: Vector, requires: Attributes | undefined, gpuAt?: number) {
    this.id = id;
    this.demand = demand;
    this.counted = requires === undefined || gpuAt === undefined ? demand : withWhole(demand, gpuAt);
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
  readonly #names: ResourceNames;

  constructor(names: ResourceNames) {
    this.#names = names;
  }

  /** Number of different needs in use. */
  get size(): number {
    return this.#byKey.size;
  }

  /** Returns the shared object with this value and counts a reference to it; `release` removes one. */
  take(demand: Vector, requires?: Attributes): Needs {
    const key = keyOf(demand, requires);
    let entry = this.#byKey.get(key);
    if (entry === undefined) {
      entry = { needs: new Needs(this.#ids.take(), demand, requires, this.#names.find(GPU)), users: 0 };
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

function withWhole(demand: Vector, at: number): Vector {
  const whole = unitsOf(GPU);
  const amount = demand[at] ?? 0;
  return amount % whole === 0 ? demand : demand.with(at, Math.ceil(amount / whole) * whole);
}

/** Requesting nothing has its own key: it means one CPU only at workers that state their CPUs. */
function keyOf(demand: Vector, requires: Attributes | undefined): string {
  const amounts = demand === ONE_CPU ? '' : demand.join();
  if (requires === undefined) return amounts;
  const wishes = Object.entries(requires).sort(([one], [other]) => (one < other ? -1 : 1));
  return `${amounts} ${JSON.stringify(wishes)}`;
}

import { LIMITS } from '../limits.js';
import { GPU, NO_RESOURCES, type Resources } from './resources.js';

/**
 * Amounts by index of `ResourceNames`, in integer units: index 0 is slots, index 1 is CPUs, `memory` is in bytes,
 * everything but slots and memory in thousandths (of a core, of a GPU). Missing entries are 0.
 */
export type Vector = readonly number[];

/** Index of slots in every vector. */
export const SLOT = 0;

/** Index of CPUs in every vector. */
export const CPU = 1;

/** Units of a CPU. */
export const PER_CPU = 1_000;

/** The demand of a task that requests nothing: one CPU. Shared. */
export const ONE_CPU: Vector = Object.freeze([1, PER_CPU]);

/** Slots that these amounts provide: one per CPU, unless there are fewer slots. */
export function slotsIn(amounts: Vector): number {
  return Math.min(amounts[SLOT] ?? 0, (amounts[CPU] ?? 0) / PER_CPU);
}

/** Stands for all resources in demands whose names cannot be added; no worker has it. */
const OTHERS = 'other resources';

/**
 * Assigns each resource name a permanent index. Names come from workers and users, so their number is limited: further names of a
 * worker are ignored, and demands for further ones cannot be met.
 */
export class ResourceNames {
  readonly #indices = new Map<string, number>([
    ['slot', SLOT],
    ['cpu', CPU],
  ]);
  readonly names: string[] = ['slot', 'cpu'];
  /** Number of names that each worker has added, by its name. */
  readonly #addedBy = new Map<string, number>();

  /** Returns the index of a name, and adds it if fewer than `most` are known, or if it has a meaning here. */
  indexOf(name: string, most = Number.POSITIVE_INFINITY): number | undefined {
    const known = this.#indices.get(name);
    if (known !== undefined) return known;
    if (this.names.length >= most && name !== 'memory' && name !== GPU) return undefined;
    this.#indices.set(name, this.names.length);
    return this.names.push(name) - 1;
  }

  /** Returns the index of a name; undefined if it is unknown. */
  find(name: string): number | undefined {
    return this.#indices.get(name);
  }

  /** Demand of a task. Rounds up, so that no task starts where it does not fit. */
  demandOf(resources: Resources): Vector {
    let vector: number[] | undefined;
    for (const name in resources) {
      vector ??= [1];
      // Jobs leave the other half of the names to workers.
      const index = this.indexOf(name, LIMITS.resourceNamesMax / 2) ?? this.indexOf(OTHERS)!;
      const amount = Math.ceil(amountIn(name, resources[name]!) - ROUNDING);
      set(vector, index, Math.max(vector[index] ?? 0, amount));
    }
    return vector ?? ONE_CPU;
  }

  /** Demand of a task that a worker reports, without unknown names. */
  reportedDemandOf(resources: Resources): Vector {
    const known = Object.entries(resources).filter(([name]) => this.#indices.has(name));
    return this.demandOf(Object.fromEntries(known));
  }

  /**
   * Capacity of a worker. Rounds down. A worker that does not state its CPUs has one per slot.
   *
   * @param worker its name, under which it may add a limited number of resources; the rest are ignored
   */
  capacityOf(slots: number, resources: Resources, worker = ''): number[] {
    for (const name in resources) {
      const added = this.#addedBy.get(worker) ?? 0;
      if (this.#indices.has(name) || added >= LIMITS.resourcesMax) continue;
      if (this.indexOf(name, LIMITS.resourceNamesMax) !== undefined) this.#addedBy.set(worker, added + 1);
    }
    return this.freeOf(slots, resources);
  }

  /** Returns the amounts as `capacityOf` does, without unknown names. */
  freeOf(slots: number, resources: Resources): number[] {
    const vector = [slots, PER_CPU * slots];
    for (const name in resources) {
      const index = this.#indices.get(name);
      if (index !== undefined && name !== OTHERS) set(vector, index, unitsFree(name, resources[name]!));
    }
    return vector;
  }

  /** Converts a vector to amounts by name, without slots. */
  resourcesOf(vector: Vector): Resources {
    if (vector === ONE_CPU) return NO_RESOURCES;
    const resources: Record<string, number> = {};
    for (let index = SLOT + 1; index < vector.length; index++) {
      const name = this.names[index]!;
      if (vector[index] !== 0) resources[name] = vector[index]! / unitsOf(name);
    }
    return resources;
  }
}

function set(vector: number[], index: number, amount: number): void {
  while (vector.length < index) vector.push(0);
  vector[index] = amount;
}

/** Tolerance for sums of decimal fractions, in units. */
const ROUNDING = 1e-6;

/** Units per amount of 1 of a resource. */
export function unitsOf(name: string): number {
  return name === 'memory' ? 1 : 1_000;
}

/** Free amount of a resource in units, rounded down. */
export function unitsFree(name: string, amount: number): number {
  return Math.floor(amountIn(name, amount) + ROUNDING);
}

/**
 * Returns the demand that amounts requested by users mean. A task that requests only memory takes one CPU, too. Omits other amounts
 * of 0, and rounds down to whole units, at least one: three tasks that each request a third of a GPU share it.
 */
export function demandOf(requested: Resources | undefined): Resources {
  if (requested === undefined) return NO_RESOURCES;
  const wanted = Object.entries(requested).filter(([, amount]) => amount > 0);
  if (wanted.length === 0) return NO_RESOURCES;
  const demand = Object.fromEntries(wanted.map(([name, amount]) => [name, inWholeUnits(name, amount)]));
  if (wanted.length > 1 || wanted[0]![0] !== 'memory') return demand;
  // Keeps a stated 0, so that the demand means the same when it is submitted again.
  return { cpu: Object.hasOwn(requested, 'cpu') ? 0 : 1, ...demand };
}

function inWholeUnits(name: string, amount: number): number {
  return Number.isInteger(amount) ? amount : Math.max(1, unitsFree(name, amount)) / unitsOf(name);
}

function amountIn(name: string, amount: number): number {
  return amount * unitsOf(name);
}

/** Whether the demand fits into the free amounts. */
export function fitsIn(demand: Vector, free: Vector): boolean {
  for (let index = 0; index < demand.length; index++) if (demand[index]! > (free[index] ?? 0)) return false;
  return true;
}

/** Adds `sign · change` to `amounts`, in place. */
export function addVector(amounts: number[], change: Vector, sign: 1 | -1): void {
  while (amounts.length < change.length) amounts.push(0);
  for (let index = 0; index < change.length; index++) amounts[index]! += sign * change[index]!;
}

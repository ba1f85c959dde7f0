import { NO_RESOURCES, type Resources } from './resources.js';

/**
 * Amounts by index of `ResourceNames`, whole numbers in each resource's unit: [0] slots, `memory` in bytes, every other in
 * thousandths (of a core, of a GPU). What is missing at the end counts as 0.
 */
export type Vector = readonly number[];

/** Index of slots in every vector. */
export const SLOT = 0;

/** A task that needs a slot and nothing beside it. One shared object. */
export const ONE_SLOT: Vector = Object.freeze([1]);

/** Names of resources, each with an index that never changes. */
export class ResourceNames {
  readonly #indices = new Map<string, number>([['slot', SLOT]]);
  readonly names: string[] = ['slot'];

  /** Returns the index of a name, adding new names. */
  indexOf(name: string): number {
    const known = this.#indices.get(name);
    if (known !== undefined) return known;
    this.#indices.set(name, this.names.length);
    return this.names.push(name) - 1;
  }

  /** Returns the index of a name, if it is known. */
  find(name: string): number | undefined {
    return this.#indices.get(name);
  }

  /** Demand of a task: amounts are rounded up, so that no task starts where it does not fit. */
  demandOf(resources: Resources): Vector {
    let vector: number[] | undefined;
    for (const name in resources) {
      vector ??= [1];
      this.#set(vector, name, Math.ceil(amountIn(name, resources[name]!) - ROUNDING));
    }
    return vector ?? ONE_SLOT;
  }

  /** Capacity of a worker: amounts are rounded down. */
  capacityOf(slots: number, resources: Resources): number[] {
    const vector = [slots];
    for (const name in resources) this.#set(vector, name, unitsFree(name, resources[name]!));
    return vector;
  }

  /** The same amounts by name; slots are left out. */
  resourcesOf(vector: Vector): Resources {
    if (vector.length === 1) return NO_RESOURCES;
    const resources: Record<string, number> = {};
    for (let index = SLOT + 1; index < vector.length; index++) {
      const name = this.names[index]!;
      if (vector[index] !== 0) resources[name] = vector[index]! / unitsOf(name);
    }
    return resources;
  }

  #set(vector: number[], name: string, amount: number): void {
    const index = this.indexOf(name);
    while (vector.length < index) vector.push(0);
    vector[index] = amount;
  }
}

/** A sum of decimal fractions may be off by this much of a unit. */
const ROUNDING = 1e-6;

/** Units of a resource in each amount of 1, as vectors count it. */
export function unitsOf(name: string): number {
  return name === 'memory' ? 1 : 1_000;
}

/** Free amount of a resource in its units, rounded down. */
export function unitsFree(name: string, amount: number): number {
  return Math.floor(amountIn(name, amount) + ROUNDING);
}

function amountIn(name: string, amount: number): number {
  return amount * unitsOf(name);
}

export function fitsIn(demand: Vector, free: Vector): boolean {
  for (let index = 0; index < demand.length; index++) if (demand[index]! > (free[index] ?? 0)) return false;
  return true;
}

/** `amounts += sign · change`, in place. */
export function addVector(amounts: number[], change: Vector, sign: 1 | -1): void {
  while (amounts.length < change.length) amounts.push(0);
  for (let index = 0; index < change.length; index++) amounts[index]! += sign * change[index]!;
}

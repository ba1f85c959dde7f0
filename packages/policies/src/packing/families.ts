import { fitsIn, type Vector } from '@goshawk/core';
import { CAPACITY } from './partition.js';
import type { ServerClass } from './server-kinds.js';

/** A server of 2^-n of another's capacity shares its virtual queues up to this n. */
const SHIFT_MAX = 4;

const ROUNDING = 1e-6;

/**
 * Sizes of tasks of several resources at servers that differ (§VIII): the largest share of what the largest server of a
 * family has.
 */
export class Families {
  /** What sizes of a family are shares of. */
  readonly #largest: Vector[] = [];
  readonly #capacities: Vector[];
  readonly #classes = new Map<string, ServerClass>();
  readonly #isOne: boolean;

  /** @param isOne all servers are of one family, the largest amounts of any; else those of 1, 1/2, 1/4 … are */
  constructor(capacities: Iterable<Vector>, isOne: boolean) {
    this.#isOne = isOne;
    const distinct = new Map<string, Vector>();
    for (const capacity of capacities) distinct.set(`${capacity}`, capacity);
    this.#capacities = [...distinct.values()].sort((one, other) => sum(other) - sum(one));
    if (isOne && distinct.size > 0) this.#largest.push(greatest(this.#capacities));
    for (const capacity of this.#capacities) this.#classes.set(`${capacity}`, this.#classFor(capacity));
  }

  /** The most that any server has of each resource, where all are of one family. */
  get largest(): Vector {
    return this.#largest[0] ?? [];
  }

  /** The greatest shift of any class. */
  get shift(): number {
    return Math.max(0, ...[...this.#classes.values()].map(({ shift }) => shift));
  }

  get count(): number {
    return this.#largest.length;
  }

  classOf(capacity: Vector): ServerClass | undefined {
    return this.#classes.get(`${capacity}`);
  }

  /** Whether a server of any class would hold the task. */
  holds(demand: Vector): boolean {
    return this.#capacities.some((capacity) => fitsIn(demand, capacity));
  }

  /** Units of the family's largest server; undefined: it holds no such task. */
  sizeIn(family: number, demand: Vector): number | undefined {
    const largest = this.#largest[family];
    if (largest === undefined || !fitsIn(demand, largest)) return undefined;
    let share = 0;
    for (let index = 0; index < demand.length; index++) {
      if (demand[index] !== 0 && Number.isFinite(largest[index]))
        share = Math.max(share, demand[index]! / largest[index]!);
    }
    // Rounded down, or seven tasks of 1/7 would not fit; that they do fit is looked at apart.
    return Math.max(1, Math.floor(share * CAPACITY + ROUNDING));
  }

  #classFor(capacity: Vector): ServerClass {
    if (this.#isOne) return { family: 0, shift: Math.min(SHIFT_MAX, shiftOf(capacity, this.#largest[0]!)) };
    for (const [family, largest] of this.#largest.entries()) {
      for (let shift = 0; shift <= SHIFT_MAX; shift++) {
        if (largest.every((amount, index) => amount === capacity[index]! * 2 ** shift))
          return { family, shift };
      }
    }
    return { family: this.#largest.push(capacity) - 1, shift: 0 };
  }
}

function sum(capacity: Vector): number {
  return capacity.reduce((total, amount) => total + amount, 0);
}

function greatest(capacities: readonly Vector[]): Vector {
  const length = Math.max(...capacities.map((capacity) => capacity.length));
  return Array.from({ length }, (_, index) =>
    Math.max(...capacities.map((capacity) => capacity[index] ?? 0)),
  );
}

/** How often the largest is halved until it is at most the capacity in some resource. */
function shiftOf(capacity: Vector, largest: Vector): number {
  const ratios = largest.flatMap((amount, index) =>
    Number.isFinite(amount) && capacity[index]! > 0 ? [amount / capacity[index]!] : [],
  );
  return ratios.length === 0 ? 0 : Math.ceil(Math.log2(Math.max(...ratios)) - ROUNDING);
}

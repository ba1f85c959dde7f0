import { type Attributes, fitsIn, mayRun, type Needs, sumOf, type Vector } from '@goshawk/core';
import type { ServerClass } from './configurations.js';
import { CAPACITY } from './partition.js';

/** Servers with 2^-n of another's capacity share its virtual queues up to this n. */
const SHIFT_MAX = 4;

const ROUNDING = 1e-6;

/** The properties of a server that determine its family. */
interface ServerLike {
  readonly capacity: Vector;
  readonly attributes: Attributes;
}

/** A demand, with requirements if they must be met. */
type Sized = Pick<Needs, 'demand'> & Partial<Pick<Needs, 'requires'>>;

/**
 * Sizes of tasks with several resources on different servers (§VIII). The size of a task is its largest share
 * of any resource of the family's largest server.
 */
export class Families {
  /**
   * Reference server of each family, in whose capacity sizes are measured, and the requirements that it
   * meets.
   */
  readonly #largest: (ServerLike & { readonly meets: string })[] = [];
  readonly #servers: ServerLike[];
  readonly #required: readonly Attributes[];
  readonly #classes = new Map<string, ServerClass>();
  readonly #isOne: boolean;

  /**
   * @param isOne all servers form one family, with the maximum of each resource; otherwise a family consists of
   * servers with 1, 1/2, 1/4 … of its largest that meet the same requirements
   * @param required requirements of waiting tasks, without duplicates
   */
  constructor(servers: Iterable<ServerLike>, isOne: boolean, required: readonly Attributes[] = []) {
    this.#isOne = isOne;
    this.#required = required;
    const distinct = new Map<string, ServerLike>();
    for (const server of servers) distinct.set(this.#keyOf(server), server);
    this.#servers = [...distinct.values()].sort((one, other) => sumOf(other.capacity) - sumOf(one.capacity));
    if (isOne && distinct.size > 0) {
      const capacity = greatest(this.#servers.map((server) => server.capacity));
      this.#largest.push({ capacity, attributes: {}, meets: '' });
    }
    for (const server of this.#servers) this.#classes.set(this.#keyOf(server), this.#classFor(server));
  }

  /** Maximum of each resource over all servers, if they form one family. */
  get largest(): Vector {
    return this.#largest[0]?.capacity ?? [];
  }

  /** The largest shift of any class. */
  get shift(): number {
    return Math.max(0, ...[...this.#classes.values()].map(({ shift }) => shift));
  }

  get count(): number {
    return this.#largest.length;
  }

  classOf(server: ServerLike): ServerClass | undefined {
    return this.#classes.get(this.#keyOf(server));
  }

  /** Whether some server is large enough and meets the requirements. */
  holds(needs: Sized): boolean {
    return this.#servers.some((server) => fitsIn(needs.demand, server.capacity) && mayRun(server, needs));
  }

  /**
   * Size of a task in units of the family's largest server; undefined: too large, or the requirements are not
   * met.
   */
  sizeIn(family: number, needs: Sized): number | undefined {
    const { demand } = needs;
    const server = this.#largest[family];
    if (server === undefined || !fitsIn(demand, server.capacity)) return undefined;
    if (!this.#isOne && !mayRun(server, needs)) return undefined;
    const largest = server.capacity;
    let share = 0;
    for (let index = 0; index < demand.length; index++) {
      if (demand[index] !== 0 && Number.isFinite(largest[index]))
        share = Math.max(share, demand[index]! / largest[index]!);
    }
    // Rounds down, because seven tasks of 1/7 must fit. Placement checks the exact amounts.
    return Math.max(1, Math.floor(share * CAPACITY + ROUNDING));
  }

  #classFor(server: ServerLike): ServerClass {
    const { capacity } = server;
    if (this.#isOne)
      return { family: 0, shift: Math.min(SHIFT_MAX, shiftOf(capacity, this.#largest[0]!.capacity)) };
    const meets = this.#meets(server);
    for (const [family, largest] of this.#largest.entries()) {
      if (largest.meets !== meets) continue;
      for (let shift = 0; shift <= SHIFT_MAX; shift++) {
        if (largest.capacity.every((amount, index) => amount === capacity[index]! * 2 ** shift))
          return { family, shift };
      }
    }
    return { family: this.#largest.push({ capacity, attributes: server.attributes, meets }) - 1, shift: 0 };
  }

  #keyOf(server: ServerLike): string {
    return `${server.capacity} ${this.#meets(server)}`;
  }

  /** Returns a digit for each requirement: 1 if the server meets it. */
  #meets(server: ServerLike): string {
    return this.#required.map((requires) => (mayRun(server, { requires }) ? '1' : '0')).join('');
  }
}

function greatest(capacities: readonly Vector[]): Vector {
  const length = Math.max(...capacities.map((capacity) => capacity.length));
  return Array.from({ length }, (_, index) =>
    Math.max(...capacities.map((capacity) => capacity[index] ?? 0)),
  );
}

/** Number of times the largest must be halved until it is at most the capacity in every resource. */
function shiftOf(capacity: Vector, largest: Vector): number {
  const ratios = largest.flatMap((amount, index) =>
    Number.isFinite(amount) && capacity[index]! > 0 ? [amount / capacity[index]!] : [],
  );
  return ratios.length === 0 ? 0 : Math.ceil(Math.log2(Math.max(...ratios)) - ROUNDING);
}

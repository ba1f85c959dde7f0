import { CAPACITY, typeOf } from './partition.js';

/**
 * One of the 4J − 4 configurations of K_RED (Psychas and Ghaderi, INFOCOM 2019, §V-B, eq. 7). For any queues,
 * the best configuration has at least 2/3 of the weight of any packing (Proposition 1).
 */
export interface Configuration {
  /** Number of tasks of the large type. If it is 1, 2/3 of the server is reserved for this task. */
  readonly large: 0 | 1;
  readonly largeType: number;
  /** Type of all other tasks. */
  readonly filler: number;
  /** Number of tasks of type `filler`. */
  readonly fillers: number;
}

/**
 * @param j J, at least 2
 * @param offset added to each type: 2n for a server with 2^-n of the reference capacity
 */
export function kRed(j: number, offset = 0): readonly Configuration[] {
  const list: Configuration[] = [];
  const add = (large: 0 | 1, filler: number, fillers: number): void => {
    list.push({ large, largeType: 1 + offset, filler: filler + offset, fillers });
  };
  for (let m = 0; m < j; m++) add(0, 2 * m, 2 ** m);
  for (let m = 1; m < j; m++) add(0, 2 * m + 1, 3 * 2 ** (m - 1));
  for (let m = 2; m < j; m++) add(1, 2 * m, Math.floor(2 ** m / 3));
  for (let m = 1; m < j; m++) add(1, 2 * m + 1, 2 ** (m - 1));
  return list;
}

/** @param queues number of waiting tasks, by type */
export function weightOf(configuration: Configuration, queues: ArrayLike<number>): number {
  const { large, largeType, filler, fillers } = configuration;
  return (large === 1 ? queues[largeType]! : 0) + fillers * queues[filler]!;
}

/** The configuration with the largest weight, the first among equals; undefined if all weigh 0. */
export function bestConfiguration(
  list: readonly Configuration[],
  queues: ArrayLike<number>,
): Configuration | undefined {
  let best: Configuration | undefined;
  let largest = 0;
  for (const configuration of list) {
    const weight = weightOf(configuration, queues);
    if (weight <= largest) continue;
    best = configuration;
    largest = weight;
  }
  return best;
}

/**
 * The virtual queues from which a server takes tasks (§VIII). A server with 2^-shift of the capacity of the
 * largest server belongs to its family and shares its queues: type t of the smaller server is type
 * t + 2·shift of the largest one. Other servers form separate families.
 */
export interface ServerClass {
  readonly family: number;
  /** Its capacity is 2^-shift of the capacity of its family's largest server. */
  readonly shift: number;
}

export const WHOLE_SERVER: ServerClass = { family: 0, shift: 0 };

interface ServerKind {
  readonly capacity: number;
  readonly family: number;
  /** Virtual queue of large tasks. A configuration contains at most one of these tasks. */
  readonly largeType: number;
  readonly configurations: readonly Configuration[];
}

/**
 * The configuration of each server (§V-B): an empty server takes the one with the largest weight of waiting tasks,
 * and keeps it until it is empty again. Virtual queues are numbered across all families.
 */
export class ActiveConfigurations {
  readonly #j: number;
  /** Number of waiting tasks, by virtual queue. */
  readonly lengths: number[] = [];
  readonly #classOf: (server: number) => ServerClass;
  /** Indexed by family and shift. */
  readonly #kinds: ServerKind[] = [];
  readonly #kindAt: ServerKind[] = [];
  readonly #active: (Configuration | undefined)[] = [];

  /** @param j J of the largest server of each family */
  constructor(j: number, classOf: (server: number) => ServerClass = () => WHOLE_SERVER) {
    this.#j = j;
    this.#classOf = classOf;
    this.widen(0);
  }

  /** Adds the missing queues of all families up to this one. */
  widen(family: number): void {
    while (this.lengths.length < 2 * this.#j * (family + 1)) this.lengths.push(0);
  }

  /** Records the kind of a new server. Another server may have had this number before. */
  opened(server: number): void {
    const kind = this.#kindOf(this.#classOf(server));
    this.#kindAt[server] = kind;
    this.widen(kind.family);
  }

  kindAt(server: number): ServerKind {
    this.#kindAt[server] ??= this.#kindOf(this.#classOf(server));
    return this.#kindAt[server];
  }

  /** The virtual queue of a task. @param size in units of the largest server of the family */
  queueOf(size: number, family: number): number {
    return family * 2 * this.#j + typeOf(size, this.#j);
  }

  of(server: number): Configuration | undefined {
    return this.#active[server];
  }

  set(server: number, configuration: Configuration | undefined): void {
    this.#active[server] = configuration;
  }

  /**
   * Chooses a configuration if the server is empty or has none. An occupied server has none if another
   * central placed its tasks.
   */
  choose(server: number, isEmpty: boolean): Configuration | undefined {
    if (isEmpty || this.#active[server] === undefined) this.#active[server] = this.#heaviest(server);
    return this.#active[server];
  }

  /** Returns whether the server's configuration has less than half the weight of the best one (§VIII). */
  isPoor(server: number): boolean {
    const configuration = this.#active[server];
    const best = this.#heaviest(server);
    if (configuration === undefined || best === undefined) return false;
    return 2 * weightOf(configuration, this.lengths) < weightOf(best, this.lengths);
  }

  #heaviest(server: number): Configuration | undefined {
    return bestConfiguration(this.kindAt(server).configurations, this.lengths);
  }

  #kindOf({ family, shift }: ServerClass): ServerKind {
    const key = family * this.#j + shift;
    this.#kinds[key] ??= {
      capacity: CAPACITY / 2 ** shift,
      family,
      largeType: 2 * key + 1,
      configurations: kRed(this.#j - shift, 2 * key),
    };
    return this.#kinds[key];
  }
}

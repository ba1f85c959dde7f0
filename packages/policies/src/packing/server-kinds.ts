import { type Configuration, kRed } from './configurations.js';
import { CAPACITY, typeOf } from './partition.js';

/**
 * Which virtual queues a server draws on (§VIII). Servers of 2^-shift of the largest one's capacity share its queues:
 * their types are those of the largest server, moved by 2·shift. Others are a family of their own.
 */
export interface ServerClass {
  readonly family: number;
  /** Its capacity is 2^-shift of the largest of its family. */
  readonly shift: number;
}

export interface ServerKind {
  readonly capacity: number;
  readonly family: number;
  /** Virtual queue of the tasks of which a configuration has one at most. */
  readonly largeType: number;
  readonly configurations: readonly Configuration[];
}

export const WHOLE_SERVER: ServerClass = { family: 0, shift: 0 };

/** Virtual queues are numbered through all families. */
export class ServerKinds {
  readonly j: number;
  readonly #kinds = new Map<number, ServerKind>();

  /** @param j J of the largest server of each family */
  constructor(j: number) {
    this.j = j;
  }

  queueOf(size: number, family: number): number {
    return family * 2 * this.j + typeOf(size, this.j);
  }

  kindOf({ family, shift }: ServerClass): ServerKind {
    const key = family * this.j + shift;
    let kind = this.#kinds.get(key);
    if (kind === undefined) {
      const offset = 2 * (family * this.j + shift);
      kind = {
        capacity: CAPACITY / 2 ** shift,
        family,
        largeType: offset + 1,
        configurations: kRed(this.j - shift, offset),
      };
      this.#kinds.set(key, kind);
    }
    return kind;
  }
}

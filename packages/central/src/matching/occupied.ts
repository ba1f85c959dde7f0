import { longOf, type Pool, type Puller } from './pool.js';

/** Workers, and whether what runs there has changed. */
export type Pullers = Iterable<Puller> & Pick<Pool, 'longChanges'>;

/** So few of the workers are wrong without anybody being told, as a fraction of all. */
const TOLD_FROM = 0.01;

/**
 * Which workers have no slot but for long tasks, as a bit for each. A probe that is sent there waits for hours, so
 * schedulers are told now and then, when enough has changed to matter.
 */
export class Occupied {
  #told: Uint8Array = NOBODY_OCCUPIED;
  /** Of when it was last looked at all of them; undefined to look whatever has changed. */
  #seen: { readonly longChanges: number; readonly places: number } | undefined;

  /** @returns what is to be told; undefined when it is about what was told last */
  changed(pullers: Pullers, places: number): Uint8Array | undefined {
    const { longChanges } = pullers;
    if (this.#seen?.longChanges === longChanges && this.#seen.places === places) return undefined;
    this.#seen = { longChanges, places };
    const bits = new Uint8Array(Math.ceil(places / 8));
    for (const puller of pullers) {
      if (longOf(puller) >= puller.slots) bits[puller.bit >> 3]! |= 1 << (puller.bit & 7);
    }
    const changes = differences(bits, this.#told);
    if (changes === 0 || changes < TOLD_FROM * places) return undefined;
    this.#told = bits;
    return bits;
  }

  /** Somebody has not been told. */
  forget(): void {
    this.#told = NOBODY_OCCUPIED;
    this.#seen = undefined;
  }
}

const NOBODY_OCCUPIED = new Uint8Array();

/** Bits that are missing are 0. */
function differences(one: Uint8Array, other: Uint8Array): number {
  let count = 0;
  for (let i = 0; i < Math.max(one.length, other.length); i++) {
    for (let bits = (one[i] ?? 0) ^ (other[i] ?? 0); bits !== 0; bits &= bits - 1) count++;
  }
  return count;
}

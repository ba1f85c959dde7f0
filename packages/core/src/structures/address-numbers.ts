import type { Address } from '../ids.js';
import { grown } from './columns.js';

/**
 * Maps addresses to numbers, 0 by default. Drivers assign addresses in ascending order, so an array holds the
 * low ones and is much faster than a Map. High addresses are sparse and go into a Map.
 */
export class AddressNumbers {
  /**
   * The array uses the smallest type that fits its largest number, because many such columns share a CPU
   * cache.
   */
  #numbers: Uint16Array | Uint32Array | Float64Array = new Uint16Array(INITIAL);
  #max = 0xffff;
  readonly #sparse = new Map<Address, number>();

  get(address: Address): number {
    if (address >= DENSE_MAX) return this.#sparse.get(address) ?? 0;
    return address < this.#numbers.length ? this.#numbers[address]! : 0;
  }

  set(address: Address, number: number): void {
    if (address >= DENSE_MAX) {
      if (number === 0) this.#sparse.delete(address);
      else this.#sparse.set(address, number);
      return;
    }
    if (address >= this.#numbers.length) this.#numbers = grown(this.#numbers, address + 1);
    if (number > this.#max) this.#widen(number);
    this.#numbers[address] = number;
  }

  /** The numbers that are not 0, by address; those of sparse addresses last. */
  *values(): Iterable<number> {
    for (const number of this.#numbers) if (number !== 0) yield number;
    yield* this.#sparse.values();
  }

  #widen(number: number): void {
    const isLarge = number > UINT32_MAX;
    this.#numbers = isLarge ? Float64Array.from(this.#numbers) : Uint32Array.from(this.#numbers);
    this.#max = isLarge ? Number.POSITIVE_INFINITY : UINT32_MAX;
  }
}

/** A set of addresses: a bit for each low address, so that a set of all workers stays in the CPU cache. */
export class AddressSet {
  #bits = new Uint32Array(INITIAL);
  readonly #sparse = new Set<Address>();

  has(address: Address): boolean {
    if (address < 0 || address >= DENSE_MAX) return this.#sparse.has(address);
    const word = address >> 5;
    return word < this.#bits.length && (this.#bits[word]! & (1 << (address & 31))) !== 0;
  }

  add(address: Address): void {
    if (address < 0 || address >= DENSE_MAX) {
      this.#sparse.add(address);
      return;
    }
    const word = address >> 5;
    if (word >= this.#bits.length) this.#bits = grown(this.#bits, word + 1);
    this.#bits[word]! |= 1 << (address & 31);
  }

  delete(address: Address): void {
    const word = address >> 5;
    if (address < 0 || address >= DENSE_MAX) this.#sparse.delete(address);
    else if (word < this.#bits.length) this.#bits[word]! &= ~(1 << (address & 31));
  }
}

const INITIAL = 64;
/** Addresses below this are stored in the array, the others in the Map. */
const DENSE_MAX = 1 << 17;
const UINT32_MAX = 0xffff_ffff;

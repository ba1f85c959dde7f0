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

  #widen(number: number): void {
    const isLarge = number > UINT32_MAX;
    this.#numbers = isLarge ? Float64Array.from(this.#numbers) : Uint32Array.from(this.#numbers);
    this.#max = isLarge ? Number.POSITIVE_INFINITY : UINT32_MAX;
  }
}

const INITIAL = 64;
/** Addresses below this are stored in the array, the others in the Map. */
const DENSE_MAX = 1 << 17;
const UINT32_MAX = 0xffff_ffff;

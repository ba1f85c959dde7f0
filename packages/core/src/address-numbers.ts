import { grown } from './columns.js';
import type { Address } from './ids.js';

/**
 * A whole number for each address, 0 where none was set. Drivers give addresses out in order, so that a column
 * does what a Map would at a fraction of the cost.
 */
export class AddressNumbers {
  /** As wide as the largest number needs: many such columns share a processor's cache. */
  #numbers: Uint16Array | Uint32Array | Float64Array = new Uint16Array(INITIAL);
  #max = 0xffff;

  get(address: Address): number {
    return address < this.#numbers.length ? this.#numbers[address]! : 0;
  }

  set(address: Address, number: number): void {
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
const UINT32_MAX = 0xffff_ffff;

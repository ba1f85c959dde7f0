import { grown } from './columns.js';
import type { Address } from './ids.js';

/**
 * A whole number for each address, 0 where none was set. Drivers give addresses out in order, so that a column
 * does what a Map would at a fraction of the cost.
 */
export class AddressNumbers {
  /** Half as wide until a number needs more: many such columns share a processor's cache. */
  #numbers: Uint32Array | Float64Array = new Uint32Array(INITIAL);

  get(address: Address): number {
    return address < this.#numbers.length ? this.#numbers[address]! : 0;
  }

  set(address: Address, number: number): void {
    if (address >= this.#numbers.length) this.#numbers = grown(this.#numbers, address + 1);
    if (number > UINT32_MAX && this.#numbers instanceof Uint32Array)
      this.#numbers = Float64Array.from(this.#numbers);
    this.#numbers[address] = number;
  }
}

const INITIAL = 64;
const UINT32_MAX = 0xffff_ffff;

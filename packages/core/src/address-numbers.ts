import { grown } from './columns.js';
import type { Address } from './ids.js';

/**
 * A number for each address, 0 where none was set. Drivers give addresses out in order, so that a column
 * does what a Map would at a fraction of the cost.
 */
export class AddressNumbers {
  #numbers = new Float64Array(INITIAL);

  get(address: Address): number {
    return address < this.#numbers.length ? this.#numbers[address]! : 0;
  }

  set(address: Address, number: number): void {
    if (address >= this.#numbers.length) this.#numbers = grown(this.#numbers, address + 1);
    this.#numbers[address] = number;
  }
}

const INITIAL = 64;

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
    if (address >= this.#numbers.length) this.#grow(address);
    this.#numbers[address] = number;
  }

  #grow(address: Address): void {
    const numbers = new Float64Array(Math.max(2 * this.#numbers.length, address + 1));
    numbers.set(this.#numbers);
    this.#numbers = numbers;
  }
}

const INITIAL = 64;

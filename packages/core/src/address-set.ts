import { grown } from './columns.js';
import type { Address } from './ids.js';

/**
 * A set of addresses. Drivers give addresses out in order, so that a byte for each does what a Set would, and to ask it
 * costs a fraction. Those below 0 are nobody's, and never in it.
 */
export class AddressSet {
  #has = new Uint8Array(INITIAL);

  has(address: Address): boolean {
    return this.#has[address] === 1;
  }

  add(address: Address): void {
    if (address >= this.#has.length) this.#has = grown(this.#has, address + 1);
    this.#has[address] = 1;
  }

  delete(address: Address): void {
    if (address < this.#has.length) this.#has[address] = 0;
  }
}

const INITIAL = 64;

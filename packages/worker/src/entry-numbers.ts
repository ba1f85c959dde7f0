import { grown } from '@goshawk/core';
import type { Entry } from './entry.js';

/**
 * Entries by small numbers. All that came of one message is one entry at thousands of workers, so that few numbers stand for
 * all that waits, and a column of those is half of one of objects, which the engine would have to look through.
 */
export class EntryNumbers {
  readonly #entries: (Entry | undefined)[] = [];
  /** By number: how often it is in use. */
  #uses = new Int32Array(INITIAL);
  readonly #free: number[] = [];
  /** Of the entry that came last: it comes once for each worker. */
  #last = 0;

  /** @returns the number of the entry, which is in use once more; the same entry may get several */
  use(entry: Entry): number {
    if (this.#entries[this.#last] !== entry) this.#last = this.#add(entry);
    this.#uses[this.#last]!++;
    return this.#last;
  }

  /** @param number in use */
  get(number: number): Entry {
    return this.#entries[number]!;
  }

  /** It is in use once less. */
  release(number: number): Entry {
    const entry = this.#entries[number]!;
    if (--this.#uses[number]! === 0) {
      this.#entries[number] = undefined;
      this.#free.push(number);
    }
    return entry;
  }

  #add(entry: Entry): number {
    const number = this.#free.pop();
    if (number !== undefined) {
      this.#entries[number] = entry;
      return number;
    }
    if (this.#entries.length === this.#uses.length) this.#uses = grown(this.#uses, this.#uses.length + 1);
    return this.#entries.push(entry) - 1;
  }
}

const INITIAL = 64;

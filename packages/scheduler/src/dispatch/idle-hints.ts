import type { Address } from '@goshawk/core';

/**
 * Workers that asked here for a task and got none: they are idle, unless they have found something elsewhere since.
 * A hint is used once, the newest first, which is the likeliest to hold still.
 */
export class IdleHints {
  #isOn = false;
  readonly #workers = new Set<Address>();
  /** In the order of their hints; those that are not in the set any more are passed over. */
  #stack: Address[] = [];

  get size(): number {
    return this.#workers.size;
  }

  /** Entries of the order, those that are passed over included. */
  get entries(): number {
    return this.#stack.length;
  }

  add(worker: Address): void {
    if (!this.#isOn) return;
    this.delete(worker);
    if (this.#stack.length >= 2 * this.#workers.size + STALE_MAX) this.#dropStale();
    this.#workers.add(worker);
    this.#stack.push(worker);
  }

  delete(worker: Address): void {
    if (this.#workers.size > 0) this.#workers.delete(worker);
  }

  /** Forgets all. @param isOn whether any are kept from now on */
  startAnew(isOn: boolean): void {
    this.#isOn = isOn;
    this.#workers.clear();
    this.#stack = [];
  }

  /** Uses up to `count` hints of workers that suit; those that do not are used up as well. */
  take(count: number, suits: (worker: Address) => boolean): Address[] {
    const taken: Address[] = [];
    while (taken.length < count) {
      const worker = this.#stack.pop();
      if (worker === undefined) break;
      if (this.#workers.delete(worker) && suits(worker)) taken.push(worker);
    }
    return taken;
  }

  #dropStale(): void {
    const left = new Set(this.#workers);
    this.#stack = this.#stack
      .toReversed()
      .filter((worker) => left.delete(worker))
      .reverse();
  }
}

/** Hints that are used up and still stand in the order, beside as many as there are. */
const STALE_MAX = 1_024;

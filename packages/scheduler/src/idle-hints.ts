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

  add(worker: Address): void {
    if (!this.#isOn) return;
    this.delete(worker);
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
}

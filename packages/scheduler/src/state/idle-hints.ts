import type { Address } from '@goshawk/core';

/**
 * Workers that asked for a task and got none. They are idle unless they found a task elsewhere. Each hint is used
 * once, the newest first because it is the most reliable.
 */
export class IdleHints {
  #isEnabled = false;
  readonly #workers = new Set<Address>();
  /** In order of arrival; includes used hints, which are skipped. */
  #stack: Address[] = [];

  get size(): number {
    return this.#workers.size;
  }

  /** Number of hints in the stack, including used ones. */
  get stackSize(): number {
    return this.#stack.length;
  }

  add(worker: Address): void {
    if (!this.#isEnabled) return;
    this.delete(worker);
    if (this.#stack.length >= 2 * this.#workers.size + USED_MAX) this.#dropUsed();
    this.#workers.add(worker);
    this.#stack.push(worker);
  }

  delete(worker: Address): void {
    if (this.#workers.size > 0) this.#workers.delete(worker);
  }

  /** Drops all hints. @param isEnabled whether to keep new ones */
  reset(isEnabled: boolean): void {
    this.#isEnabled = isEnabled;
    this.#workers.clear();
    this.#stack = [];
  }

  /** Uses up to `count` hints of suitable workers, and drops unsuitable ones that it encounters. */
  take(count: number, suits: (worker: Address) => boolean): Address[] {
    const taken: Address[] = [];
    while (taken.length < count) {
      const worker = this.#stack.pop();
      if (worker === undefined) break;
      if (this.#workers.delete(worker) && suits(worker)) taken.push(worker);
    }
    return taken;
  }

  #dropUsed(): void {
    const left = new Set(this.#workers);
    this.#stack = this.#stack
      .toReversed()
      .filter((worker) => left.delete(worker))
      .reverse();
  }
}

/** Maximum number of used hints in the stack, beyond the number of unused ones. */
const USED_MAX = 1_024;

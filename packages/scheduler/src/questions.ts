import type { Address } from '@goshawk/core';

/**
 * Which questions of workers come for the first time. A worker numbers its questions upwards and order holds
 * between two parties, so that the last number of each worker is all there is to remember.
 */
export class Questions {
  readonly #last = new Map<Address, number>();

  /** Remembers the question. @returns false when it was asked before: the answer to it may have been lost */
  isNew(worker: Address, ask: number): boolean {
    if (ask <= (this.#last.get(worker) ?? 0)) return false;
    this.#last.set(worker, ask);
    return true;
  }

  forget(workers: Iterable<Address>): void {
    for (const worker of workers) this.#last.delete(worker);
  }
}

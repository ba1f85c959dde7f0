import { type Address, AddressNumbers } from '@goshawk/core';

/** A worker's first question of all, one that was not asked before, or one whose answer may have been lost. */
export type QuestionKind = 'first' | 'new' | 'again';

/**
 * Which questions of workers come for the first time. A worker numbers its questions upwards and order holds
 * between two parties, so that the last number of each worker is all there is to remember.
 */
export class Questions {
  /** 0: it has not asked yet. */
  readonly #last = new AddressNumbers();

  /** Remembers the question. */
  note(worker: Address, ask: number): QuestionKind {
    const last = this.#last.get(worker);
    if (ask <= last) return 'again';
    this.#last.set(worker, ask);
    return last === 0 ? 'first' : 'new';
  }

  forget(workers: Iterable<Address>): void {
    for (const worker of workers) this.#last.set(worker, 0);
  }
}

import { type Address, AddressNumbers, NOBODY } from '@goshawk/core';

/**
 * Detects repeated requests and matches of workers, which are numbered per worker. Numbers grow and messages arrive in
 * order, so each worker's last number suffices.
 */
export class RequestNumbers {
  #requests = new LastNumbers();
  #central: Address = NOBODY;
  /** The latest match of each worker, as numbered by `#central`. */
  #matches = new LastNumbers();

  /** Records the number of a request of the worker. @returns whether it is new */
  isNewRequest(worker: Address, ask: number): boolean {
    return this.#requests.isNew(worker, ask);
  }

  /** Records the number of a match of the worker. @returns whether it is new */
  isNewMatch(central: Address, worker: Address, match: number): boolean {
    if (central !== this.#central) {
      this.#central = central;
      this.#matches = new LastNumbers();
    }
    return this.#matches.isNew(worker, match);
  }

  /** Resets the numbers of workers that left. A worker that returns numbers its requests and matches from the start. */
  reset(workers: Iterable<Address>): void {
    for (const worker of workers) {
      this.#requests.reset(worker);
      this.#matches.reset(worker);
    }
  }
}

class LastNumbers {
  readonly #last = new AddressNumbers();

  isNew(worker: Address, number: number): boolean {
    if (number <= this.#last.get(worker)) return false;
    this.#last.set(worker, number);
    return true;
  }

  reset(worker: Address): void {
    this.#last.set(worker, 0);
  }
}

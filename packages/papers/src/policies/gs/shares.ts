/**
 * Weighted sharing of slots between queues (SLearn §5.1.1): the next slot goes to the loaded queue with the lowest
 * ratio of running tasks to weight. Loaded queues thus hold slots in proportion to their weights, and at least one
 * each if there are enough slots, however small the weight, which keeps large jobs from starving. With fewer slots,
 * the first of the queues without a slot is served first, and one that was skipped too often gets a turn.
 */
export class Shares {
  readonly #weights: readonly number[];
  /** Slots given to others since the queue last got one, while it was loaded. */
  readonly #passed: number[];
  readonly #passesMax: number;

  /** @param ratio each queue's weight over that of the next */
  constructor(queues: number, ratio: number) {
    this.#weights = Array.from({ length: queues }, (_, queue) => ratio ** -queue);
    this.#passed = this.#weights.map(() => 0);
    this.#passesMax = ratio;
  }

  /** The loaded queue that gets the next slot; −1: none is loaded. */
  next(isLoaded: (queue: number) => boolean, running: readonly number[]): number {
    let next = -1;
    let least = Number.POSITIVE_INFINITY;
    for (let queue = 0; queue < this.#weights.length; queue++) {
      if (!isLoaded(queue)) continue;
      const share = running[queue]! / this.#weights[queue]!;
      if (share > least || (share === least && !this.#isTurn(queue, next))) continue;
      next = queue;
      least = share;
    }
    return next;
  }

  /** The queue has received a slot. */
  took(queue: number, isLoaded: (queue: number) => boolean): void {
    for (let other = 0; other < this.#weights.length; other++)
      this.#passed[other] = other !== queue && isLoaded(other) ? this.#passed[other]! + 1 : 0;
  }

  #isTurn(queue: number, before: number): boolean {
    const passed = this.#passed[queue]!;
    return passed >= this.#passesMax && passed > this.#passed[before]!;
  }
}

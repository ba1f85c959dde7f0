/**
 * Weighted sharing of slots between queues (SLearn §5.1.1). The next slot goes to the loaded queue with the
 * lowest ratio of running tasks to weight. Given enough slots, each loaded queue has at least one, so that
 * large jobs do not starve. Ties go to the first queue, or to a queue that was skipped too often.
 */
export class Shares {
  readonly #weights: readonly number[];
  /** Number of slots that other queues got since the queue got one or was empty. */
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

  /** Records that the queue has received a slot. */
  took(queue: number, isLoaded: (queue: number) => boolean): void {
    for (let other = 0; other < this.#weights.length; other++)
      this.#passed[other] = other !== queue && isLoaded(other) ? this.#passed[other]! + 1 : 0;
  }

  #isTurn(queue: number, before: number): boolean {
    const passed = this.#passed[queue]!;
    return passed >= this.#passesMax && passed > this.#passed[before]!;
  }
}

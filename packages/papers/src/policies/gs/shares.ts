/**
 * Weighted sharing of slots between queues (SLearn §5.1.1): the next slot goes to the loaded queue that has the least
 * of its share, which is its running tasks over its weight. So loaded queues hold slots in proportion to their weights,
 * and each holds one at least where there are as many slots as loaded queues, however small its weight: that is what
 * keeps large jobs from starving. Where there are fewer slots than that, of the queues that hold none the first comes
 * first, and one that was passed over for too often has its turn.
 */
export class Shares {
  readonly #weights: readonly number[];
  /** Slots that others got since the queue got one and while it was loaded. */
  readonly #passed: number[];
  readonly #passesMax: number;

  /** @param ratio each queue's weight over that of the next */
  constructor(queues: number, ratio: number) {
    this.#weights = Array.from({ length: queues }, (_, queue) => ratio ** -queue);
    this.#passed = this.#weights.map(() => 0);
    this.#passesMax = ratio;
  }

  /** The loaded queue to which the next slot goes; −1 when none is loaded. */
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

  /** The queue has got a slot. */
  took(queue: number, isLoaded: (queue: number) => boolean): void {
    for (let other = 0; other < this.#weights.length; other++)
      this.#passed[other] = other !== queue && isLoaded(other) ? this.#passed[other]! + 1 : 0;
  }

  #isTurn(queue: number, before: number): boolean {
    const passed = this.#passed[queue]!;
    return passed >= this.#passesMax && passed > this.#passed[before]!;
  }
}

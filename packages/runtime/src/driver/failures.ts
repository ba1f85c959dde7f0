/** Maximum number of stored causes. */
const CAUSES_MAX = 1_000;

/** Numbers the causes of refused messages, so that a client's error leads to its line in the log. */
export class Failures {
  readonly #numbers = new Map<string, number>();
  #last = 0;

  /** Returns the number of a cause: the same one until the cause is evicted. */
  numberOf(cause: string): number {
    const known = this.#numbers.get(cause);
    if (known !== undefined) return known;
    if (this.#numbers.size >= CAUSES_MAX) this.#numbers.delete(this.#numbers.keys().next().value!);
    this.#numbers.set(cause, ++this.#last);
    return this.#last;
  }
}

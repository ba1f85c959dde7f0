/** Causes that are remembered. */
const CAUSES_MAX = 1_000;

/** Numbers the causes for which messages were refused, by which a client's error leads to its line in the log. */
export class Failures {
  readonly #numbers = new Map<string, number>();
  #last = 0;

  /** The same for the same cause, as long as it is remembered. */
  numberOf(cause: string): number {
    const known = this.#numbers.get(cause);
    if (known !== undefined) return known;
    if (this.#numbers.size >= CAUSES_MAX) this.#numbers.delete(this.#numbers.keys().next().value!);
    this.#numbers.set(cause, ++this.#last);
    return this.#last;
  }
}

import { Refused } from './errors.js';
import { LIMITS } from './limits.js';

/** Limits open responses: streams, and requests that wait for the end of a job. */
export class OpenResponses {
  readonly #byToken = new Map<string, number>();
  readonly #perTokenMax: number;
  #total = 0;

  /** @param tokens number of tokens; a single token may use the whole limit */
  constructor(tokens: number) {
    this.#perTokenMax = tokens > 1 ? LIMITS.openPerTokenMax : LIMITS.openMax;
  }

  /**
   * Takes a slot for an open response.
   *
   * @param token identifies the token of the request
   * @returns a function that releases the slot; further calls have no effect
   * @throws Refused if no slot is free
   */
  hold(token: string): () => void {
    const open = this.#byToken.get(token) ?? 0;
    if (open >= this.#perTokenMax)
      throw new Refused(
        429,
        'too-many-streams',
        `this token has ${open} streams and waiting requests open, the limit per token`,
        'close some, or use another token',
      );
    if (this.#total >= LIMITS.openMax)
      throw new Refused(
        503,
        'overloaded',
        `${this.#total} streams and waiting requests are open, the limit of this gateway`,
        'try again later',
      );
    this.#total++;
    this.#byToken.set(token, open + 1);
    let isHeld = true;
    return () => {
      if (!isHeld) return;
      isHeld = false;
      this.#total--;
      const left = this.#byToken.get(token)! - 1;
      if (left === 0) this.#byToken.delete(token);
      else this.#byToken.set(token, left);
    };
  }
}

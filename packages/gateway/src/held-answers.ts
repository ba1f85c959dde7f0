import { Refused } from './errors.js';
import { LIMITS } from './limits.js';

/** Limits open responses: streams, and requests that wait for a job's end. */
export class HeldAnswers {
  readonly #byToken = new Map<string, number>();
  readonly #perTokenMax: number;
  #total = 0;

  /** @param tokens number of tokens; a single one may use the whole limit */
  constructor(tokens: number) {
    this.#perTokenMax = tokens > 1 ? LIMITS.heldPerTokenMax : LIMITS.heldMax;
  }

  /**
   * @param token identifies the token of the request
   * @returns a function that releases the slot, once
   * @throws Refused
   */
  hold(token: string): () => void {
    const held = this.#byToken.get(token) ?? 0;
    if (held >= this.#perTokenMax)
      throw new Refused(
        429,
        'too-many-streams',
        `this token has ${held} streams and waiting requests open, the limit per token`,
        'close some, or use another token',
      );
    if (this.#total >= LIMITS.heldMax)
      throw new Refused(
        503,
        'overloaded',
        `${this.#total} streams and waiting requests are open, the limit of this gateway`,
        'try again later',
      );
    this.#total++;
    this.#byToken.set(token, held + 1);
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

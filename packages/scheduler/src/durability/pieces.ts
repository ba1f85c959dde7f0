import { invariant, type Millis } from '@goshawk/core';
import type { SchedulerEnvironment } from '../contract.js';

/** Records of a journal, say, of which one takes some microseconds. */
const PIECE = 500;

/**
 * Work that may be more than a turn should take, such as jobs of a whole journal: done a piece at a time. Between them beats
 * go out, of this scheduler and of others in its process, and mail is read.
 */
export class Pieces {
  readonly #env: SchedulerEnvironment;
  readonly #piece: number;
  #steps: Iterator<number> | undefined;
  #now: Millis = 0;

  /** @param piece what is done at a time, in the units of those who bring work */
  constructor(env: SchedulerEnvironment, piece = PIECE) {
    this.#env = env;
    this.#piece = piece;
  }

  /** When the present piece is done. */
  get now(): Millis {
    return this.#now;
  }

  /** @param steps say what each of them was */
  begin(steps: Iterable<number>, now: Millis): void {
    invariant(this.#steps === undefined, 'only one operation can run in chunks at a time');
    this.#steps = steps[Symbol.iterator]();
    this.goOn(now);
  }

  goOn(now: Millis): void {
    if (this.#steps === undefined) return;
    this.#now = now;
    for (let left = this.#piece; left > 0; ) {
      const { done, value } = this.#steps.next();
      if (done) {
        this.#steps = undefined;
        return;
      }
      left -= value;
    }
    this.#env.setTimer('piece', 0, now);
  }
}

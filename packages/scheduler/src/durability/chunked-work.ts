import { invariant, type Millis } from '@goshawk/core';
import type { SchedulerEnvironment } from '../contract.js';

/** Size of a chunk in journal records, each of which takes some microseconds. */
const CHUNK = 500;

/**
 * Splits long work, such as loading a whole journal, into chunks. Between them the process sends heartbeats and reads
 * messages.
 */
export class ChunkedWork {
  readonly #env: SchedulerEnvironment;
  readonly #chunkSize: number;
  #steps: Iterator<number> | undefined;
  #now: Millis = 0;

  /** @param piece size of a chunk, in the units of the work */
  constructor(env: SchedulerEnvironment, piece = CHUNK) {
    this.#env = env;
    this.#chunkSize = piece;
  }

  /** Time at which the current chunk runs. */
  get now(): Millis {
    return this.#now;
  }

  /** @param steps yield the cost of each step */
  begin(steps: Iterable<number>, now: Millis): void {
    invariant(this.#steps === undefined, 'only one operation can run in chunks at a time');
    this.#steps = steps[Symbol.iterator]();
    this.runChunk(now);
  }

  runChunk(now: Millis): void {
    if (this.#steps === undefined) return;
    this.#now = now;
    for (let left = this.#chunkSize; left > 0; ) {
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

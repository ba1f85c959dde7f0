import { invariant, type Millis } from '@goshawk/core';
import type { SchedulerEnvironment } from '../contract.js';

/** Default chunk size in journal records; reading a record takes a few microseconds. */
const DEFAULT_CHUNK_SIZE = 500;

/**
 * Splits long work, such as loading a journal, into chunks. Between two chunks, the process sends heartbeats and reads
 * messages.
 */
export class ChunkedWork {
  readonly #env: SchedulerEnvironment;
  readonly #chunkSize: number;
  #steps: Iterator<number> | undefined;
  #now: Millis = 0;

  /** @param chunkSize maximum total cost of the steps of one chunk */
  constructor(env: SchedulerEnvironment, chunkSize = DEFAULT_CHUNK_SIZE) {
    this.#env = env;
    this.#chunkSize = chunkSize;
  }

  /** The time at which the current chunk started. */
  get now(): Millis {
    return this.#now;
  }

  /** Starts work and runs its first chunk. @param steps yields the cost of each step */
  begin(steps: Iterable<number>, now: Millis): void {
    invariant(this.#steps === undefined, 'only one operation can run in chunks at a time');
    this.#steps = steps[Symbol.iterator]();
    this.runChunk(now);
  }

  /** Runs the next chunk, and sets the timer for the one after it. */
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
    this.#env.setTimer('chunk', 0, now);
  }
}

import type { Millis } from './ids.js';

/** A connection, as a server of HTTP sees it. */
interface Closable {
  destroy(): unknown;
}

/** A connection may stay silent for this long, however many others there are: its request is on the way. */
const GRACE_MS = 250;

/**
 * The connections of a server that have no request under way. When there are too many, the one that has been quiet for longest
 * is closed, so that silent connections never keep a request of somebody else out.
 */
export class QuietConnections<C extends Closable> {
  /** In the order in which they became quiet. */
  readonly #since = new Map<C, Millis>();
  readonly #max: number;

  /** @param max quiet connections that are kept; while all of them are young, ten times as many */
  constructor(max: number) {
    this.#max = max;
  }

  get size(): number {
    return this.#since.size;
  }

  /** A connection was opened, or its answer has been sent. */
  add(connection: C, now: Millis): void {
    this.#since.delete(connection);
    this.#since.set(connection, now);
    for (const [oldest, since] of this.#since) {
      const { size } = this.#since;
      const isKept = size <= this.#max || (now - since < GRACE_MS && size <= 10 * this.#max);
      if (isKept) return;
      this.#since.delete(oldest);
      oldest.destroy();
    }
  }

  /** Stops tracking a connection that has received a request, or was closed. */
  delete(connection: C): void {
    this.#since.delete(connection);
  }
}

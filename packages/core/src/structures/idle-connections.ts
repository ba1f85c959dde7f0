import type { Millis } from '../ids.js';

/** A connection of an HTTP server. */
interface Closable {
  destroy(): unknown;
}

/**
 * A connection may be silent for this long regardless of the limit, because its first request may be in
 * flight.
 */
const GRACE_MS = 250;

/**
 * The connections of a server without a request in flight. Above the limit it closes the one that has been
 * idle longest, so that idle connections cannot block other clients.
 */
export class IdleConnections<C extends Closable> {
  /** In the order in which they became idle. */
  readonly #since = new Map<C, Millis>();
  readonly #max: number;

  /** @param max idle connections that are kept; up to ten times as many while all of them are new */
  constructor(max: number) {
    this.#max = max;
  }

  get size(): number {
    return this.#since.size;
  }

  /** A connection was opened, or its response was sent. */
  add(connection: C, now: Millis): void {
    this.#since.delete(connection);
    this.#since.set(connection, now);
    this.trim(now);
  }

  /** Closes what is above the limit, because its time as a new connection has passed. */
  trim(now: Millis): void {
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

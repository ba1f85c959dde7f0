import type { Address, Millis } from '@goshawk/core';

/**
 * Keeps the mail between two parties in order, whatever was drawn for it: as on one connection, a message
 * that is quick waits for the one before it.
 */
export class ArrivalOrder {
  /** When the latest message of a sender to a receiver arrives. */
  readonly #latest = new Map<number, Millis>();
  /** Entries at which those of the past are swept out. */
  #sweepAt = SWEEP_AT_LEAST;

  /** Pairs that are remembered: at most twice those with mail under way, and a few. */
  get size(): number {
    return this.#latest.size;
  }

  /** @returns when a message may arrive that by itself would at `at` */
  arrival(from: Address, to: Address, at: Millis, now: Millis): Millis {
    const pair = from * ADDRESSES_MAX + to;
    const latest = this.#latest.get(pair);
    const arrival = latest !== undefined && latest > at ? latest : at;
    this.#latest.set(pair, arrival);
    if (this.#latest.size >= this.#sweepAt) this.#sweep(now);
    return arrival;
  }

  /** What has arrived holds up nothing any more. */
  #sweep(now: Millis): void {
    for (const [pair, at] of this.#latest) if (at <= now) this.#latest.delete(pair);
    this.#sweepAt = Math.max(SWEEP_AT_LEAST, 2 * this.#latest.size);
  }
}

const SWEEP_AT_LEAST = 4_096;
/** So that a pair of addresses is one exact number. */
const ADDRESSES_MAX = 2 ** 26;

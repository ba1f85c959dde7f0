import type { Address, Millis } from '@goshawk/core';

/**
 * Keeps the mail between two parties in order, whatever was drawn for it: as on one connection, a message
 * that is quick waits for the one before it.
 */
export class ArrivalOrder {
  /** The latest message of a sender to a receiver. */
  readonly #latest = new Map<number, Underway>();
  /** Entries at which those of the past are swept out. */
  #sweepAt = SWEEP_AT_LEAST;

  /** Pairs that are remembered: at most twice those with mail under way, and a few. */
  get size(): number {
    return this.#latest.size;
  }

  /** @returns when a message may arrive that is sent now, and by itself would at `at` */
  arrival(from: Address, to: Address, at: Millis, now: Millis): Millis {
    const pair = pairOf(from, to);
    const latest = this.#latest.get(pair);
    if (latest === undefined) {
      this.#latest.set(pair, { sentAt: now, arrivesAt: at });
      if (this.#latest.size >= this.#sweepAt) this.#sweep(now);
      return at;
    }
    latest.sentAt = now;
    if (latest.arrivesAt < at) latest.arrivesAt = at;
    return latest.arrivesAt;
  }

  /** @returns when that arrives which the one has sent the other at this very time; undefined when it has sent nothing */
  arrivalOfSameTime(from: Address, to: Address, now: Millis): Millis | undefined {
    const latest = this.#latest.get(pairOf(from, to));
    return latest?.sentAt === now ? latest.arrivesAt : undefined;
  }

  /** Arrived messages delay no others. */
  #sweep(now: Millis): void {
    for (const [pair, { arrivesAt }] of this.#latest) if (arrivesAt < now) this.#latest.delete(pair);
    this.#sweepAt = Math.max(SWEEP_AT_LEAST, 2 * this.#latest.size);
  }
}

interface Underway {
  sentAt: Millis;
  arrivesAt: Millis;
}

function pairOf(from: Address, to: Address): number {
  return from * ADDRESSES_MAX + to;
}

const SWEEP_AT_LEAST = 4_096;
/** So that a pair of addresses is one exact number. */
const ADDRESSES_MAX = 2 ** 26;

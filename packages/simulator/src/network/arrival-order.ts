import type { Address, Millis } from '@goshawk/core';

/**
 * Keeps messages between two parties in order for any delays: as on one connection, a fast message waits for the
 * previous one.
 */
export class ArrivalOrder {
  /** The latest message of a sender to a receiver. */
  readonly #latest = new Map<number, InFlight>();
  /** Number of entries at which arrived messages are removed. */
  #sweepAt = SWEEP_SIZE_MIN;

  /** Number of pairs in the map: at most twice those with messages in flight, or `SWEEP_SIZE_MIN`. */
  get size(): number {
    return this.#latest.size;
  }

  /** @param at arrival of the message without earlier messages @returns its arrival, no earlier than theirs */
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

  /** @returns arrival of a message with the same sender, receiver and time; undefined if there is none */
  arrivalOfSameTime(from: Address, to: Address, now: Millis): Millis | undefined {
    const latest = this.#latest.get(pairOf(from, to));
    return latest?.sentAt === now ? latest.arrivesAt : undefined;
  }

  /** Removes arrived messages, which delay no others. */
  #sweep(now: Millis): void {
    for (const [pair, { arrivesAt }] of this.#latest) if (arrivesAt < now) this.#latest.delete(pair);
    this.#sweepAt = Math.max(SWEEP_SIZE_MIN, 2 * this.#latest.size);
  }
}

interface InFlight {
  sentAt: Millis;
  arrivesAt: Millis;
}

function pairOf(from: Address, to: Address): number {
  return from * ADDRESSES_MAX + to;
}

const SWEEP_SIZE_MIN = 4_096;
/** Encodes a pair of addresses as one exact number. */
const ADDRESSES_MAX = 2 ** 26;

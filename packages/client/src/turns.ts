import type { Millis } from '@goshawk/core';

/**
 * Tracks which requests each party has answered. A party answers requests of one kind in order: if it is answering earlier ones,
 * later ones are queued, and repeating them would only add load.
 */
export class Turns {
  readonly #last = new Map<string, { number: number; at: Millis }>();
  readonly #answered = new Set<string>();

  /** Returns whether the party has answered any request. */
  hasAnswered(party: string): boolean {
    return this.#answered.has(party);
  }

  /** @param number of the request; ascending */
  note(party: string, kind: string, number: number, now: Millis): void {
    this.#answered.add(party);
    const key = `${party} ${kind}`;
    const last = this.#last.get(key);
    if (last === undefined) this.#last.set(key, { number, at: now });
    else {
      last.number = Math.max(last.number, number);
      last.at = now;
    }
  }

  /** Returns whether the request is still queued: earlier ones were answered since then, and no later one. */
  isBefore(party: string, kind: string, number: number, since: Millis): boolean {
    const last = this.#last.get(`${party} ${kind}`);
    return last !== undefined && last.at >= since && last.number < number;
  }
}

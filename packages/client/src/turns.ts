import type { Millis } from '@goshawk/core';

/**
 * How far those who are asked have come. A party answers questions of one kind in the order in which they were asked: one that
 * answers earlier ones has later ones before it, and to ask these again would only be more for it to do.
 */
export class Turns {
  readonly #last = new Map<string, { number: number; at: Millis }>();

  /** @param number of the question, which grows from one to the next */
  note(party: string, kind: string, number: number, now: Millis): void {
    const key = `${party} ${kind}`;
    const last = this.#last.get(key);
    if (last === undefined) this.#last.set(key, { number, at: now });
    else {
      last.number = Math.max(last.number, number);
      last.at = now;
    }
  }

  /** Whether the question waits for its turn: earlier ones were answered since then, and no later one ever. */
  isBefore(party: string, kind: string, number: number, since: Millis): boolean {
    const last = this.#last.get(`${party} ${kind}`);
    return last !== undefined && last.at >= since && last.number < number;
  }
}

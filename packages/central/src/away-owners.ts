import type { Address, Millis } from '@goshawk/core';

/** A scheduler that keeps its jobs and does not come back within this is given up. ms */
const GIVEN_UP_MS = 10 * 60_000;

/** Schedulers that are away and will know their jobs when they are back: what runs of theirs goes on meanwhile. */
export class AwayOwners {
  /** By tag: another incarnation bears the same. */
  readonly #byTag = new Map<string, { readonly address: Address; readonly since: Millis }>();

  left(tag: string, address: Address, now: Millis): void {
    this.#byTag.set(tag, { address, since: now });
  }

  returned(tag: string): void {
    this.#byTag.delete(tag);
  }

  /** @returns those that nobody waits for any more */
  giveUp(now: Millis): Address[] {
    const given: Address[] = [];
    for (const [tag, { address, since }] of this.#byTag) {
      if (now - since <= GIVEN_UP_MS) continue;
      this.#byTag.delete(tag);
      given.push(address);
    }
    return given;
  }
}

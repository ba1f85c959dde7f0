import type { Millis } from '@goshawk/core';
import type { KillReason } from '@goshawk/worker';

/**
 * What runs in the slots of all workers, as columns: one place a slot. An event that ends a run names it by
 * its number, so that the end of a killed run is not taken for that of the next one in its slot.
 */
export class VirtualSlots {
  readonly #runs: Int32Array;
  readonly #startedAt: Float64Array;
  /** By place; killed runs are few. */
  readonly #killed = new Map<number, KillReason>();

  constructor(places: number) {
    this.#runs = new Int32Array(places);
    this.#startedAt = new Float64Array(places);
  }

  /** @returns the number of the run that begins */
  begin(place: number, now: Millis): number {
    this.#startedAt[place] = now;
    return ++this.#runs[place]!;
  }

  /** @returns the number under which the killed run ends, in place of its own */
  kill(place: number, reason: KillReason): number {
    this.#killed.set(place, reason);
    return ++this.#runs[place]!;
  }

  /** Nothing that runs there ends any more. */
  forget(place: number): void {
    this.#runs[place]!++;
    this.#killed.delete(place);
  }

  isCurrent(place: number, run: number): boolean {
    return this.#runs[place] === run;
  }

  runMs(place: number, now: Millis): Millis {
    return now - this.#startedAt[place]!;
  }

  /** Why the run was killed, once; undefined when it came to its own end. */
  takeKilled(place: number): KillReason | undefined {
    if (this.#killed.size === 0) return undefined;
    const reason = this.#killed.get(place);
    this.#killed.delete(place);
    return reason;
  }
}

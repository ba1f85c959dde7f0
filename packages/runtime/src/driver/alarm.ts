import { type Millis, TIMER_MAX_MS } from '@goshawk/core';

/** Rings once, at a time of its host's clock or a little later, never in the call that sets it. */
export interface Alarm {
  /** Moves it if it is set already. */
  setFor(at: Millis, ring: () => void): void;
  clear(): void;
}

/** A timer of Node's. It may ring early by the host's clock: Node counts from the start of its turn. */
export class NodeAlarm implements Alarm {
  readonly #clock: () => Millis;
  #timer: NodeJS.Timeout | undefined;

  /** @param clock monotonic, ms */
  constructor(clock: () => Millis) {
    this.#clock = clock;
  }

  setFor(at: Millis, ring: () => void): void {
    clearTimeout(this.#timer);
    // Rounded up, since Node rounds down.
    const delayMs = Math.min(Math.max(1, Math.ceil(at - this.#clock())), TIMER_MAX_MS);
    this.#timer = setTimeout(ring, delayMs);
  }

  clear(): void {
    clearTimeout(this.#timer);
  }
}

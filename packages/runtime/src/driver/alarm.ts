import { type Millis, TIMER_MAX_MS } from '@goshawk/core';

/** Fires once, at a time of its host's clock or slightly later, never within the call that sets it. */
export interface Alarm {
  /** Sets the alarm, or moves it. */
  setFor(at: Millis, ring: () => void): void;
  clear(): void;
}

/** An alarm by Node's timers. It may fire early by the host's clock, because Node counts from the start of its turn. */
export class NodeAlarm implements Alarm {
  readonly #clock: () => Millis;
  #timer: NodeJS.Timeout | undefined;

  /** @param clock monotonic, ms */
  constructor(clock: () => Millis) {
    this.#clock = clock;
  }

  setFor(at: Millis, ring: () => void): void {
    clearTimeout(this.#timer);
    // Rounded up, because Node rounds down.
    const delayMs = Math.min(Math.max(1, Math.ceil(at - this.#clock())), TIMER_MAX_MS);
    this.#timer = setTimeout(ring, delayMs);
  }

  clear(): void {
    clearTimeout(this.#timer);
  }
}

import type { Millis } from '@goshawk/core';
import type { Logger } from '@goshawk/transport';
import { repeatUntil } from './now-and-then.js';

const LOOK_MS = 5_000;
/** Minimum jump to report in ms. Smaller ones are ordinary clock corrections. */
const JUMP_MIN_MS = 1_000;

/**
 * Detects that the wall clock was set or the machine was suspended. Both change the offset between the wall clock and
 * the clock of the process.
 */
export class ClockWatch {
  readonly #logger: Logger;
  #offsetMs: Millis;

  /** @param offsetMs wall clock minus the process's clock */
  constructor(logger: Logger, offsetMs: Millis) {
    this.#logger = logger;
    this.#offsetMs = offsetMs;
  }

  check(offsetMs: Millis): void {
    const jumpMs = offsetMs - this.#offsetMs;
    if (Math.abs(jumpMs) < JUMP_MIN_MS) return;
    this.#offsetMs = offsetMs;
    const what =
      jumpMs > 0
        ? 'the clock of this machine was set forward, or the machine was suspended'
        : 'the clock of this machine was set back';
    this.#logger.warn({ jumpMs: Math.round(jumpMs) }, what);
  }
}

/** Checks the clock periodically until the process ends. */
export function watchClock(logger: Logger, now: () => Millis, ended: Promise<unknown>): void {
  const offsetMs = (): Millis => Date.now() - now();
  const watch = new ClockWatch(logger, offsetMs());
  repeatUntil(LOOK_MS, ended, () => watch.check(offsetMs()));
}

import type { Millis } from '@goshawk/core';
import type { Logger } from '@goshawk/transport';
import { repeatUntil } from './now-and-then.js';

/** Shorter than a gap to report, so that the CPU time of an interval tells a blocked process from a stopped one. */
const LOOK_MS = 1_000;
/** Minimum jump to report in ms. Smaller ones are ordinary clock corrections. */
const JUMP_MIN_MS = 1_000;
/** Minimum delay of a check to report in ms. Leases expire after 5 s. */
const GAP_MIN_MS = 2_000;

/**
 * Detects that the wall clock was set or the machine was suspended. Both change the offset between the wall clock and
 * the clock of the process. Also detects that this process did not run for a while, which peers see as silence.
 */
export class ClockWatch {
  readonly #logger: Logger;
  #offsetMs: Millis;
  #checkedAt: Millis;
  #cpuMs: Millis;

  /** @param offsetMs wall clock minus the process's clock @param now the process's clock @param cpuMs its CPU time */
  constructor(logger: Logger, offsetMs: Millis, now: Millis, cpuMs: Millis) {
    this.#logger = logger;
    this.#offsetMs = offsetMs;
    this.#checkedAt = now;
    this.#cpuMs = cpuMs;
  }

  check(offsetMs: Millis, now: Millis, cpuMs: Millis): void {
    const lateMs = now - this.#checkedAt - LOOK_MS;
    const busyMs = cpuMs - this.#cpuMs;
    this.#checkedAt = now;
    this.#cpuMs = cpuMs;
    if (lateMs >= GAP_MIN_MS)
      this.#logger.warn(
        { lateMs: Math.round(lateMs), cpuMs: Math.round(busyMs) },
        busyMs >= lateMs
          ? 'this process handled no messages for a while, because its code, or that of a policy or an estimator, took too long'
          : 'this process did not run for a while: it was stopped, or its machine was, or other processes had the CPUs',
      );
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
  const cpuMs = (): Millis => {
    const { user, system } = process.cpuUsage();
    return (user + system) / 1_000;
  };
  const watch = new ClockWatch(logger, offsetMs(), now(), cpuMs());
  repeatUntil(LOOK_MS, ended, () => watch.check(offsetMs(), now(), cpuMs()));
}

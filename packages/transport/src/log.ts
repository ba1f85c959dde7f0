import type { Logger } from './logger.js';

/** The part of a logger that the mailbox uses. */
export type MailLogger = Pick<Logger, 'debug' | 'warn' | 'error'>;

const CAUSES_MAX = 1_000;

/**
 * Logs at most one line per peer and cause in each interval, so that a misbehaving peer cannot fill the disk. Each line
 * contains the number of lines suppressed before it.
 */
export class ThrottledLog {
  readonly #logger: MailLogger;
  readonly #intervalMs: number;
  readonly #causes = new Map<string, { nextAtMs: number; suppressed: number }>();

  constructor(logger: MailLogger, intervalMs: number) {
    this.#logger = logger;
    this.#intervalMs = intervalMs;
  }

  /** Number of stored pairs of peer and cause. */
  get size(): number {
    return this.#causes.size;
  }

  warn(peer: string, cause: string, message: string, fields: object = {}): void {
    const heldBack = this.#pass(`${cause} ${peer}`);
    if (heldBack !== undefined) this.#logger.warn({ peer, cause, heldBack, ...fields }, message);
  }

  /** Logs errors that no peer caused. */
  error(cause: string, message: string, fields: object): void {
    const heldBack = this.#pass(cause);
    if (heldBack !== undefined) this.#logger.error({ heldBack, ...fields }, message);
  }

  /** Returns the number of lines suppressed since the last one; undefined if this one must be suppressed, too. */
  #pass(key: string): number | undefined {
    const nowMs = performance.now();
    const seen = this.#causes.get(key);
    if (seen !== undefined && nowMs < seen.nextAtMs) {
      seen.suppressed++;
      return undefined;
    }
    if (this.#causes.size >= CAUSES_MAX) this.#forgetOldest();
    // Deleted first, so that the map stays in order of use.
    this.#causes.delete(key);
    this.#causes.set(key, { nextAtMs: nowMs + this.#intervalMs, suppressed: 0 });
    return seen?.suppressed ?? 0;
  }

  #forgetOldest(): void {
    for (const key of this.#causes.keys()) {
      this.#causes.delete(key);
      return;
    }
  }
}

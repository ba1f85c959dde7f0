import { sumOf } from '@goshawk/core';
import type { MailboxCounters, RejectionReason } from '../counters.js';
import { REJECTION_REASONS } from '../counters.js';
import type { MailLogger } from '../log.js';

const ADDRESSES_MAX = 8;
const INCOMPLETE =
  'connections ended before the handshake: their processes exited, only checked the port, or are on a busy machine';

/**
 * Counts rejected connections and logs a summary at intervals, so that a network scan cannot fill the disk.
 */
export class RejectedConnections {
  readonly #counters: MailboxCounters;
  readonly #logger: MailLogger;
  readonly #intervalMs: number;
  readonly #onReported: ((attempts: object) => void) | undefined;
  readonly #unreported = new Map<RejectionReason, number>();
  readonly #addresses = new Set<string>();
  #nextLineAtMs = Number.NEGATIVE_INFINITY;
  #timer: NodeJS.Timeout | undefined;

  constructor(
    counters: MailboxCounters,
    logger: MailLogger,
    intervalMs: number,
    onReported?: (attempts: object) => void,
  ) {
    this.#counters = counters;
    this.#logger = logger;
    this.#intervalMs = intervalMs;
    this.#onReported = onReported;
  }

  /** Counts a rejected connection. @param address of the peer, if known */
  refused(reason: RejectionReason, address?: string): void {
    this.#counters.rejections[reason]++;
    this.#unreported.set(reason, (this.#unreported.get(reason) ?? 0) + 1);
    if (address !== undefined && this.#addresses.size < ADDRESSES_MAX) this.#addresses.add(address);
    const inMs = this.#nextLineAtMs - performance.now();
    if (inMs <= 0) {
      this.#report();
    } else {
      this.#timer ??= setTimeout(() => this.#report(), inMs).unref();
    }
  }

  close(): void {
    clearTimeout(this.#timer);
  }

  #report(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#nextLineAtMs = performance.now() + this.#intervalMs;
    const counts = REJECTION_REASONS.flatMap((reason) => {
      const count = this.#unreported.get(reason);
      return count === undefined ? [] : [[reason, count] as const];
    });
    const attempts = sumOf(counts, ([, count]) => count);
    const addresses = [...this.#addresses];
    this.#unreported.clear();
    this.#addresses.clear();
    const fields = { attempts, ...Object.fromEntries(counts), addresses };
    if (counts.every(([reason]) => reason === 'incomplete')) return this.#logger.warn(fields, INCOMPLETE);
    this.#logger.warn(fields, 'rejected connections from outside this cluster');
    this.#onReported?.(fields);
  }
}

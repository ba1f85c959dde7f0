import type { Address, MessageOf, Millis } from '@goshawk/core';
import type { TaskRef } from './entry.js';

interface Unconfirmed {
  owner: Address;
  readonly message: MessageOf<'ended'>;
  /** When the task had ended, or another incarnation of the owner took it over. */
  since: Millis;
  sentAt: Millis;
}

/**
 * An owner that has not confirmed a report for so long is gone for good, though nobody has said so: central was started
 * again meanwhile and has never heard of it. Longer than central waits for one that is away. ms
 */
const KEPT_MS = 15 * 60_000;

/** Ends of tasks that their owners have not confirmed. Each is sent again until they have. */
export class Reports {
  /** Made when there is one: where nothing is lost, nothing is kept. */
  #unconfirmed: Map<number, Unconfirmed> = NONE;

  get size(): number {
    return this.#unconfirmed.size;
  }

  keep(owner: Address, message: MessageOf<'ended'>, now: Millis): void {
    if (this.#unconfirmed === NONE) this.#unconfirmed = new Map();
    this.#unconfirmed.set(message.report, { owner, message, since: now, sentAt: now });
  }

  confirm(owner: Address, report: number): void {
    if (this.#unconfirmed.get(report)?.owner === owner) this.#unconfirmed.delete(report);
  }

  has(owner: Address, { job, task, attempt }: TaskRef): boolean {
    for (const { owner: of, message } of this.#unconfirmed.values()) {
      if (of === owner && message.job === job && message.task === task && message.attempt === attempt)
        return true;
    }
    return false;
  }

  /** The reports to `from` are for `to` now. */
  readdress(from: Address, to: Address, now: Millis): void {
    for (const report of this.#unconfirmed.values()) {
      if (report.owner !== from) continue;
      report.owner = to;
      report.since = now;
    }
  }

  /** Calls back for each report to this owner. */
  forEachTo(owner: Address, visit: (message: MessageOf<'ended'>) => void): void {
    for (const { owner: of, message } of this.#unconfirmed.values()) if (of === owner) visit(message);
  }

  dropOwner(owner: Address): void {
    for (const [report, { owner: of }] of this.#unconfirmed)
      if (of === owner) this.#unconfirmed.delete(report);
  }

  /**
   * Calls back for each that was last sent `retryMs` ago or longer, and counts it as sent now. What nobody has wanted for
   * very long is dropped.
   */
  resend(retryMs: number, now: Millis, send: (to: Address, message: MessageOf<'ended'>) => void): void {
    for (const [number, report] of this.#unconfirmed) {
      if (now - report.sentAt < retryMs) continue;
      if (now - report.since > KEPT_MS) {
        this.#unconfirmed.delete(number);
        continue;
      }
      report.sentAt = now;
      send(report.owner, report.message);
    }
  }
}

/** Of those that never kept one. */
const NONE = new Map<number, Unconfirmed>();

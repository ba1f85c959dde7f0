import type { Address, MessageOf, Millis } from '@goshawk/core';
import type { TaskRef } from './entry.js';

interface Unconfirmed {
  owner: Address;
  readonly message: MessageOf<'ended'>;
  readonly endedAt: Millis;
  /** When the task ended, or when another incarnation of its owner took it over. */
  since: Millis;
  sentAt: Millis;
}

/**
 * Time in ms after which an unconfirmed report is dropped. Usually central reports a lost owner earlier, but a
 * restarted central may not know the owner. It is longer than central waits for a disconnected scheduler.
 */
const EXPIRY_MS = 15 * 60_000;

/** Reports of ended tasks. Each is repeated until its owner confirms it. */
export class Reports {
  /**
   * In ascending order of their numbers. An array, because a map that changes with every task slows garbage collection.
   * Created on demand: usually there are none.
   */
  #unconfirmed: Unconfirmed[] = NONE;

  get size(): number {
    return this.#unconfirmed.length;
  }

  keep(owner: Address, message: MessageOf<'ended'>, now: Millis): void {
    if (this.#unconfirmed === NONE) this.#unconfirmed = [];
    this.#unconfirmed.push({ owner, message, endedAt: now, since: now, sentAt: now });
  }

  /** Removes all reports that match. */
  #removeAll(matches: (report: Unconfirmed) => boolean): void {
    if (this.#unconfirmed.some(matches))
      this.#unconfirmed = this.#unconfirmed.filter((report) => !matches(report));
  }

  confirm(owner: Address, report: number): void {
    // Reports are usually confirmed in order.
    const at = this.#unconfirmed.findIndex(({ message }) => message.report >= report);
    const confirmed = this.#unconfirmed[at];
    if (confirmed?.message.report !== report || confirmed.owner !== owner) return;
    if (at === 0) this.#unconfirmed.shift();
    else this.#unconfirmed.splice(at, 1);
  }

  has(owner: Address, ref: TaskRef): boolean {
    const { job, task, attempt } = ref;
    for (const { owner: of, message } of this.#unconfirmed) {
      if (of === owner && message.job === job && message.task === task && message.attempt === attempt)
        return true;
    }
    return false;
  }

  /** Moves the reports to a new incarnation of the owner. */
  rehome(from: Address, to: Address, now: Millis): void {
    for (const report of this.#unconfirmed) {
      if (report.owner !== from) continue;
      report.owner = to;
      report.since = now;
    }
  }

  /** Calls `visit` for each report to this owner, with the time at which its task ended. */
  forEachTo(owner: Address, visit: (message: MessageOf<'ended'>, endedAt: Millis) => void): void {
    for (const { owner: of, message, endedAt } of this.#unconfirmed)
      if (of === owner) visit(message, endedAt);
  }

  dropOwner(owner: Address): void {
    this.#removeAll((report) => report.owner === owner);
  }

  /**
   * Repeats each report that was last sent at least `retryMs` ago. Drops reports that have expired.
   */
  resend(retryMs: number, now: Millis, send: (to: Address, message: MessageOf<'ended'>) => void): void {
    const isDue = ({ sentAt }: Unconfirmed): boolean => now - sentAt >= retryMs;
    this.#removeAll((report) => isDue(report) && now - report.since > EXPIRY_MS);
    for (const report of this.#unconfirmed) {
      if (!isDue(report)) continue;
      report.sentAt = now;
      send(report.owner, report.message);
    }
  }
}

/** Shared by workers without unconfirmed reports. */
const NONE: Unconfirmed[] = [];

import { type Address, LIMITS, type MessageOf, type Millis } from '@goshawk/core';
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
  /** Created on demand: usually there are none. */
  #unconfirmed: Map<number, Unconfirmed> = NONE;
  /** Number of reports by key, for fast lookup: each arriving task is looked up among possibly thousands of reports. */
  #counts: Map<number, number> = NO_COUNTS;

  get size(): number {
    return this.#unconfirmed.size;
  }

  keep(owner: Address, message: MessageOf<'ended'>, now: Millis): void {
    if (this.#unconfirmed === NONE) {
      this.#unconfirmed = new Map();
      this.#counts = new Map();
    }
    this.#unconfirmed.set(message.report, { owner, message, endedAt: now, since: now, sentAt: now });
    const key = keyOf(message);
    this.#counts.set(key, (this.#counts.get(key) ?? 0) + 1);
  }

  #remove({ message }: Unconfirmed): void {
    this.#unconfirmed.delete(message.report);
    const key = keyOf(message);
    const others = this.#counts.get(key)! - 1;
    if (others === 0) this.#counts.delete(key);
    else this.#counts.set(key, others);
  }

  confirm(owner: Address, report: number): void {
    const confirmed = this.#unconfirmed.get(report);
    if (confirmed?.owner === owner) this.#remove(confirmed);
  }

  has(owner: Address, ref: TaskRef): boolean {
    if (!this.#counts.has(keyOf(ref))) return false;
    const { job, task, attempt } = ref;
    for (const { owner: of, message } of this.#unconfirmed.values()) {
      if (of === owner && message.job === job && message.task === task && message.attempt === attempt)
        return true;
    }
    return false;
  }

  /** Moves the reports to a new incarnation of the owner. */
  rehome(from: Address, to: Address, now: Millis): void {
    for (const report of this.#unconfirmed.values()) {
      if (report.owner !== from) continue;
      report.owner = to;
      report.since = now;
    }
  }

  /** Calls `visit` for each report to this owner, with the time at which its task ended. */
  forEachTo(owner: Address, visit: (message: MessageOf<'ended'>, endedAt: Millis) => void): void {
    for (const { owner: of, message, endedAt } of this.#unconfirmed.values())
      if (of === owner) visit(message, endedAt);
  }

  dropOwner(owner: Address): void {
    for (const report of this.#unconfirmed.values()) if (report.owner === owner) this.#remove(report);
  }

  /**
   * Repeats each report that was last sent at least `retryMs` ago. Drops reports that have expired.
   */
  resend(retryMs: number, now: Millis, send: (to: Address, message: MessageOf<'ended'>) => void): void {
    for (const report of this.#unconfirmed.values()) {
      if (now - report.sentAt < retryMs) continue;
      if (now - report.since > EXPIRY_MS) {
        this.#remove(report);
        continue;
      }
      report.sentAt = now;
      send(report.owner, report.message);
    }
  }
}

/** Shared by workers without unconfirmed reports. */
const NONE = new Map<number, Unconfirmed>();
const NO_COUNTS = new Map<number, number>();

/** Different tasks may share a key. */
function keyOf({ job, task }: Pick<TaskRef, 'job' | 'task'>): number {
  return job * LIMITS.tasksPerJobMax + task;
}

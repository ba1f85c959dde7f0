import type { Address, MessageOf, Millis } from '@goshawk/core';
import type { KeptResult } from './contract.js';
import type { TaskRef } from './entry.js';
import type { OutputBuffer } from './output-buffer.js';

export interface Unconfirmed {
  owner: Address;
  readonly message: MessageOf<'ended'>;
  /** All output of the task, in case that its owner restarts. */
  readonly output: OutputBuffer | undefined;
  /** Whether the report waits for acknowledgments of earlier output. */
  isDeferred: boolean;
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

  /**
   * @param message `endedAgoMs`: another process has kept the report for so long
   * @param output of the task; the reports free it
   */
  keep(owner: Address, message: MessageOf<'ended'>, now: Millis, output?: OutputBuffer): void {
    if (this.#unconfirmed === NONE) this.#unconfirmed = [];
    const times = { endedAt: now - (message.endedAgoMs ?? 0), since: now, sentAt: now };
    this.#unconfirmed.push({ owner, message, output, isDeferred: false, ...times });
  }

  /** Yields all reports, each with its age and the kept output of its task. */
  *complete(now: Millis): Generator<KeptResult> {
    for (const { owner, message, output, endedAt } of this.#unconfirmed) {
      output?.restart();
      const rest = output === undefined ? {} : { output: output.takeRest() };
      yield { owner, message: { ...message, ...rest, endedAgoMs: now - endedAt } };
    }
  }

  /** Removes all reports that match. */
  #removeAll(matches: (report: Unconfirmed) => boolean): void {
    if (!this.#unconfirmed.some(matches)) return;
    for (const report of this.#unconfirmed) if (matches(report)) report.output?.free();
    this.#unconfirmed = this.#unconfirmed.filter((report) => !matches(report));
  }

  confirm(owner: Address, report: number): void {
    // Reports are usually confirmed in order.
    const at = this.#unconfirmed.findIndex(({ message }) => message.report >= report);
    const confirmed = this.#unconfirmed[at];
    if (confirmed?.message.report !== report || confirmed.owner !== owner) return;
    confirmed.output?.free();
    if (at === 0) this.#unconfirmed.shift();
    else this.#unconfirmed.splice(at, 1);
  }

  has(owner: Address, ref: TaskRef): boolean {
    return this.of(owner, ref) !== undefined;
  }

  /** Returns the report of a task. */
  of(owner: Address, { job, task, attempt }: TaskRef): Unconfirmed | undefined {
    for (const report of this.#unconfirmed) {
      const { message } = report;
      if (report.owner !== owner || message.job !== job) continue;
      if (message.task === task && message.attempt === attempt) return report;
    }
    return undefined;
  }

  /** Moves the reports to a new incarnation of the owner. */
  rehome(from: Address, to: Address, now: Millis): void {
    for (const report of this.#unconfirmed) {
      if (report.owner !== from) continue;
      report.owner = to;
      report.since = now;
    }
  }

  /** Calls `visit` for each report to this owner. */
  forEachTo(owner: Address, visit: (report: Unconfirmed) => void): void {
    for (const report of this.#unconfirmed) if (report.owner === owner) visit(report);
  }

  dropOwner(owner: Address): void {
    this.#removeAll((report) => report.owner === owner);
  }

  /**
   * Repeats each report that was last sent at least `retryMs` ago. Drops reports that have expired.
   */
  resend(retryMs: number, now: Millis, send: (report: Unconfirmed) => void): void {
    const isDue = ({ sentAt }: Unconfirmed): boolean => now - sentAt >= retryMs;
    this.#removeAll((report) => isDue(report) && now - report.since > EXPIRY_MS);
    for (const report of this.#unconfirmed) {
      if (!isDue(report)) continue;
      report.sentAt = now;
      report.output?.rewind();
      send(report);
    }
  }
}

/** Shared by workers without unconfirmed reports. */
const NONE: Unconfirmed[] = [];

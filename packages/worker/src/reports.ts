import type { Address, MessageOf, Millis, Outcome } from '@goshawk/core';
import type { Running } from './slots.js';

interface Unconfirmed {
  owner: Address;
  readonly message: MessageOf<'ended'>;
  sentAt: Millis;
}

/** Ends of tasks that their owners have not confirmed. Each is sent again until they have. */
export class Reports {
  /** Made when there is one: where nothing is lost, nothing is kept. */
  #unconfirmed: Map<number, Unconfirmed> = NONE;
  #next = 1;

  get size(): number {
    return this.#unconfirmed.size;
  }

  /**
   * The report of a run that has ended, with what it printed and nobody has heard of.
   *
   * @param ask the question for the next task; 0: none is wanted
   */
  reportOf(running: Running, outcome: Outcome, runMs: Millis, ask: number): MessageOf<'ended'> {
    const { job, task, attempt } = running;
    const output = running.output?.take() ?? NO_OUTPUT;
    return {
      type: 'ended',
      report: this.#next++,
      job,
      task,
      attempt,
      outcome,
      runMs,
      output,
      outputBytes: running.output?.sentBytes ?? 0,
      ask,
    };
  }

  keep(owner: Address, message: MessageOf<'ended'>, now: Millis): void {
    if (this.#unconfirmed === NONE) this.#unconfirmed = new Map();
    this.#unconfirmed.set(message.report, { owner, message, sentAt: now });
  }

  confirm(owner: Address, report: number): void {
    if (this.#unconfirmed.get(report)?.owner === owner) this.#unconfirmed.delete(report);
  }

  has(owner: Address, job: number, task: number, attempt: number): boolean {
    for (const { owner: of, message } of this.#unconfirmed.values()) {
      if (of === owner && message.job === job && message.task === task && message.attempt === attempt)
        return true;
    }
    return false;
  }

  /** The reports to `from` are for `to` now. */
  readdress(from: Address, to: Address): void {
    for (const report of this.#unconfirmed.values()) if (report.owner === from) report.owner = to;
  }

  /** Calls back for each report to this owner. */
  forEachTo(owner: Address, visit: (message: MessageOf<'ended'>) => void): void {
    for (const { owner: of, message } of this.#unconfirmed.values()) if (of === owner) visit(message);
  }

  dropOwner(owner: Address): void {
    for (const [report, { owner: of }] of this.#unconfirmed)
      if (of === owner) this.#unconfirmed.delete(report);
  }

  /** Calls back for each that was last sent `retryMs` ago or longer, and counts it as sent now. */
  resend(retryMs: number, now: Millis, send: (to: Address, message: MessageOf<'ended'>) => void): void {
    for (const report of this.#unconfirmed.values()) {
      if (now - report.sentAt < retryMs) continue;
      report.sentAt = now;
      send(report.owner, report.message);
    }
  }
}

const NO_OUTPUT: MessageOf<'ended'>['output'] = [];
/** Of those that never kept one. */
const NONE = new Map<number, Unconfirmed>();

import type { Address, Environment, Millis } from '@goshawk/core';
import type { Entry } from './entry.js';
import type { GivingBack } from './giving-back.js';
import type { Reports } from './reports.js';
import type { Asking, Slots } from './slots.js';

/** What slots ask owners before they run something, and what becomes of questions that nobody answers. */
export class Questions {
  readonly #env: Environment<never>;
  readonly #slots: Slots;
  readonly #reports: Reports;
  readonly #giveBack: GivingBack;

  constructor(env: Environment<never>, slots: Slots, reports: Reports, giveBack: GivingBack) {
    this.#env = env;
    this.#slots = slots;
    this.#reports = reports;
    this.#giveBack = giveBack;
  }

  /**
   * Asks again what has had no answer for `retryMs`; after so many tries the owner is away or gone.
   *
   * @returns whether slots are free that were not
   */
  sweep(retryMs: Millis, triesMax: number, now: Millis): boolean {
    let hasFreed = false;
    for (const [slot, asking] of [...this.#slots.asking()]) {
      if (now - asking.sentAt < retryMs) continue;
      if (asking.tries >= triesMax) {
        this.#giveUp(slot, asking);
        hasFreed = true;
        continue;
      }
      this.#slots.askAgain(slot, now);
      this.#again(asking);
    }
    return hasFreed;
  }

  /** The owner is gone. */
  dropOwner(owner: Address): void {
    for (const [slot, asking] of [...this.#slots.asking()])
      if (asking.entry.owner === owner) this.#giveUp(slot, asking);
  }

  #again({ entry, ask, series }: Asking): void {
    if (series === undefined) return askFor(entry, ask, true, this.#env);
    const { report } = series;
    // One that is not confirmed is sent again anyhow.
    if (this.#reports.has(entry.owner, report.job, report.task, report.attempt)) return;
    this.#env.send(entry.owner, report);
  }

  /** A probe is a promise that can be given back, as can a placed task; a series just ends. */
  #giveUp(slot: number, { entry, series }: Asking): void {
    if (series === undefined) this.#giveBack.entry(entry);
    this.#slots.release(slot);
  }
}

/** A slot asks the owner of an entry for the task. */
export function askFor(
  { owner, job, stage, placed }: Entry,
  ask: number,
  again: boolean,
  env: Environment<never>,
): void {
  env.send(owner, { type: 'ask', ask, again, job, stage, placed });
}

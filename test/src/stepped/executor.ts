import { CUT_SHORT, type KillReason, type Millis, type Outcome, type OutcomeKind } from '@goshawk/core';
import type { TaskOrder } from '@goshawk/worker';
import type { Calendar, Event } from './calendar.js';

interface Run {
  readonly startedAt: Millis;
  outcome: Outcome;
  end: Event;
  isKilled: boolean;
}

/** The executor of one worker, with tasks that sleep on the driver's clock. */
export class SteppedExecutor {
  readonly #calendar: Calendar;
  readonly #ended: (slot: number, outcome: Outcome, runMs: Millis) => void;
  readonly #runs = new Map<number, Run>();

  constructor(calendar: Calendar, ended: (slot: number, outcome: Outcome, runMs: Millis) => void) {
    this.#calendar = calendar;
    this.#ended = ended;
  }

  /** @returns whether this run is still the one in its slot, to be asked later */
  start(slot: number, { payload }: TaskOrder): () => boolean {
    const { now } = this.#calendar;
    const { sleep } = payload as { sleep: Millis };
    const before = this.#runs.get(slot);
    if (before !== undefined) before.end.isOff = true;
    const outcome = outcomeOf('completed');
    const run = { startedAt: now, outcome, end: this.#endAt(slot, now + sleep), isKilled: false };
    this.#runs.set(slot, run);
    return () => this.#runs.get(slot) === run;
  }

  /** The first reason counts. */
  kill(slot: number, reason: KillReason): void {
    const run = this.#runs.get(slot);
    if (run === undefined || run.isKilled) return;
    run.isKilled = true;
    this.#endNow(slot, run, CUT_SHORT[reason]);
  }

  /** The slot's task ends now, in this way. */
  endNow(slot: number, outcome: Outcome): boolean {
    const run = this.#runs.get(slot);
    if (run !== undefined) this.#endNow(slot, run, outcome);
    return run !== undefined;
  }

  /** Nothing that runs here ends any more. */
  forget(): void {
    for (const { end } of this.#runs.values()) end.isOff = true;
    this.#runs.clear();
  }

  #endNow(slot: number, run: Run, outcome: Outcome): void {
    run.end.isOff = true;
    run.end = this.#endAt(slot, this.#calendar.now);
    run.outcome = outcome;
  }

  #endAt(slot: number, at: Millis): Event {
    return this.#calendar.put(at, () => {
      const { outcome, startedAt } = this.#runs.get(slot)!;
      this.#runs.delete(slot);
      this.#ended(slot, outcome, this.#calendar.now - startedAt);
    });
  }
}

export function outcomeOf(kind: OutcomeKind): Outcome {
  return {
    kind,
    value: undefined,
    errorCode: kind === 'completed' ? '' : kind,
    errorMessage: kind === 'completed' ? '' : `the task was told to be ${kind}`,
    exitCode: undefined,
    signal: undefined,
  };
}

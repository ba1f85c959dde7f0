import type { Millis, Outcome, OutcomeKind } from '@goshawk/core';
import type { KillReason, TaskOrder } from '@goshawk/worker';
import type { Agenda, Event } from './agenda.js';

/** How a task goes that nobody interferes with. */
export interface Course {
  readonly runMs: Millis;
  readonly outcome: Outcome;
}

export type CourseOf = (order: TaskOrder) => Course;

interface Run {
  readonly startedAt: Millis;
  outcome: Outcome;
  end: Event;
  isKilled: boolean;
}

interface ExecutorOptions {
  readonly agenda: Agenda;
  readonly now: () => Millis;
  readonly courseOf: CourseOf;
  /** From the order to kill a task to its end. */
  readonly killMs: () => Millis;
  readonly ended: (slot: number, outcome: Outcome, runMs: Millis) => void;
}

/** The executor of one worker, with tasks that take their time on the driver's clock. */
export class SteppedExecutor {
  readonly #options: ExecutorOptions;
  readonly #runs = new Map<number, Run>();

  constructor(options: ExecutorOptions) {
    this.#options = options;
  }

  /** @returns whether this run is still the one in its slot, to be asked later */
  start(slot: number, order: TaskOrder): () => boolean {
    const now = this.#options.now();
    const { runMs, outcome } = this.#options.courseOf(order);
    const before = this.#runs.get(slot);
    if (before !== undefined) before.end.isOff = true;
    const run = { startedAt: now, outcome, end: this.#endAt(slot, now + runMs), isKilled: false };
    this.#runs.set(slot, run);
    return () => this.#runs.get(slot) === run;
  }

  /** The first reason counts. A task that ends before the kill reaches it has ended by itself. */
  kill(slot: number, reason: KillReason): void {
    const run = this.#runs.get(slot);
    if (run === undefined || run.isKilled) return;
    const endsAt = this.#options.now() + this.#options.killMs();
    if (run.end.at < endsAt) return;
    run.isKilled = true;
    const outcome =
      reason === 'shutdown' || reason === 'preempted'
        ? outcomeOf('lost', reason === 'shutdown' ? 'worker-stopped' : reason)
        : outcomeOf(reason);
    this.#move(slot, run, endsAt, outcome);
  }

  /** The slot's task ends now, in this way. */
  endNow(slot: number, outcome: Outcome): boolean {
    const run = this.#runs.get(slot);
    if (run !== undefined) this.#move(slot, run, this.#options.now(), outcome);
    return run !== undefined;
  }

  /** Nothing that runs here ends any more. */
  forget(): void {
    for (const { end } of this.#runs.values()) end.isOff = true;
    this.#runs.clear();
  }

  #move(slot: number, run: Run, at: Millis, outcome: Outcome): void {
    run.end.isOff = true;
    run.end = this.#endAt(slot, at);
    run.outcome = outcome;
  }

  #endAt(slot: number, at: Millis): Event {
    return this.#options.agenda.put(at, () => {
      const { outcome, startedAt } = this.#runs.get(slot)!;
      this.#runs.delete(slot);
      this.#options.ended(slot, outcome, this.#options.now() - startedAt);
    });
  }
}

/** A task that sleeps, and completes. */
export function sleepCourse({ payload }: TaskOrder): Course {
  const { sleep } = payload as { sleep: Millis };
  return { runMs: sleep, outcome: outcomeOf('completed') };
}

export function outcomeOf(kind: OutcomeKind, errorCode: string = kind): Outcome {
  return {
    kind,
    value: undefined,
    errorCode: kind === 'completed' ? '' : errorCode,
    errorMessage: kind === 'completed' ? '' : `the task was told to be ${kind}`,
    exitCode: undefined,
    signal: undefined,
  };
}

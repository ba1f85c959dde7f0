import type { Millis, Outcome, OutcomeKind } from '@goshawk/core';
import type { KillReason, TaskOrder } from '@goshawk/worker';

/** How a task goes that nobody interferes with. */
export interface Course {
  readonly runMs: Millis;
  readonly outcome: Outcome;
}

export type CourseOf = (order: TaskOrder) => Course;

interface Run {
  readonly startedAt: Millis;
  endsAt: Millis;
  outcome: Outcome;
}

/** The executor of one worker, with tasks that take their time on the cluster's clock. */
export class SteppedExecutor {
  readonly #runs = new Map<number, Run>();
  readonly #courseOf: CourseOf;
  readonly #killMs: () => Millis;

  /** @param killMs from the order to kill a task to its end */
  constructor(courseOf: CourseOf, killMs: () => Millis) {
    this.#courseOf = courseOf;
    this.#killMs = killMs;
  }

  start(slot: number, order: TaskOrder, now: Millis): void {
    const { runMs, outcome } = this.#courseOf(order);
    this.#runs.set(slot, { startedAt: now, endsAt: now + runMs, outcome });
  }

  /** A task that ends before the kill reaches it has ended by itself. */
  kill(slot: number, reason: KillReason, now: Millis): void {
    const run = this.#runs.get(slot);
    const endsAt = now + this.#killMs();
    if (run === undefined || run.endsAt <= endsAt) return;
    run.endsAt = endsAt;
    run.outcome = outcomeOf(reason === 'shutdown' ? 'lost' : reason);
  }

  /** The slot's task ends now, in this way. */
  endNow(slot: number, outcome: Outcome, now: Millis): boolean {
    const run = this.#runs.get(slot);
    if (run === undefined) return false;
    run.endsAt = now;
    run.outcome = outcome;
    return true;
  }

  /** The task that ends first, or undefined when none runs. */
  next(): { slot: number; endsAt: Millis } | undefined {
    let first: { slot: number; endsAt: Millis } | undefined;
    for (const [slot, { endsAt }] of this.#runs) {
      if (first === undefined || endsAt < first.endsAt) first = { slot, endsAt };
    }
    return first;
  }

  finish(slot: number, now: Millis): { outcome: Outcome; runMs: Millis } {
    const { outcome, startedAt } = this.#runs.get(slot)!;
    this.#runs.delete(slot);
    return { outcome, runMs: now - startedAt };
  }
}

/** A task that sleeps, and completes. */
export function sleepCourse({ payload }: TaskOrder): Course {
  const { sleep } = payload as { sleep: Millis };
  return { runMs: sleep, outcome: outcomeOf('completed') };
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

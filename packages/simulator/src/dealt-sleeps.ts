import { drawIndex, invariant, type JobSpec, type Millis, type Payload, type TaskIndex } from '@goshawk/core';

/**
 * The durations of a batch as the payload that all its tasks share: each task, when it starts, is dealt the next.
 *
 * A trace knows how long the tasks of a job ran, and not which of several that are alike will. The simulators of
 * Sparrow, Hawk and Eagle therefore give a job's next duration to whichever of its tasks starts next. Where tasks
 * are bound late that is their order anyway; what central places on workers starts in another.
 */
export class DealtSleeps {
  readonly #sleepsMs: ArrayLike<number>;
  /** By task, where one may run again: it takes as long as before. */
  readonly #ofTask: Map<number, Millis> | undefined;
  #dealt = 0;

  constructor(sleepsMs: ArrayLike<number>, mayRunAgain = false) {
    this.#sleepsMs = sleepsMs;
    this.#ofTask = mayRunAgain ? new Map() : undefined;
  }

  /** How many have been dealt. */
  get dealt(): number {
    return this.#dealt;
  }

  /** Run time of a starting task. */
  of(task: TaskIndex): Millis {
    const known = this.#ofTask?.get(task);
    if (known !== undefined) return known;
    const sleepMs = this.next();
    this.#ofTask?.set(task, sleepMs);
    return sleepMs;
  }

  next(): Millis {
    const sleepMs = this.#sleepsMs[this.#dealt++];
    invariant(sleepMs !== undefined, 'more tasks of a batch started than it has');
    return sleepMs;
  }
}

/**
 * The same job, whose tasks take the durations of their batch in the order in which they start. Runs once.
 *
 * @param source draws the order of the durations, for a job whose first tasks are to stand for the others: those of a
 *   trace may follow from how its machines were used, and pilots are random ones (SLearn §5.1.2)
 * @param mayRunAgain a task may be preempted, and then takes as long as before
 */
export function dealtByStart(spec: JobSpec, source?: { random(): number }, mayRunAgain = false): JobSpec {
  // How long these take is known where they start only.
  if (spec.slowdown !== undefined) return spec;
  const stages = spec.stages.map((stage) => {
    const { tasks } = stage;
    if (!('sleepsMs' in tasks)) return stage;
    const sleepsMs = source === undefined ? tasks.sleepsMs : shuffled(tasks.sleepsMs, source);
    const run = new DealtSleeps(sleepsMs, mayRunAgain || spec.retries > 0) as unknown as Payload;
    return { ...stage, tasks: { count: sleepsMs.length, run } };
  });
  return { ...spec, stages };
}

function shuffled(sleepsMs: ArrayLike<number>, source: { random(): number }): Float64Array {
  const order = Float64Array.from(sleepsMs);
  for (let last = order.length - 1; last > 0; last--) {
    const other = drawIndex(source, last + 1);
    const sleepMs = order[last]!;
    order[last] = order[other]!;
    order[other] = sleepMs;
  }
  return order;
}

import { drawIndex, invariant, type JobSpec, type Millis, type Payload, type TaskIndex } from '@goshawk/core';

/**
 * The durations of a batch, as a payload shared by all its tasks: each task gets the next duration when it starts.
 *
 * A trace contains the run times of a job's tasks, but not which of several similar tasks had which. The simulators
 * of Sparrow, Hawk and Eagle therefore give a job's next duration to its next starting task. With late binding that
 * is the task order anyway; tasks placed by central start in another order.
 */
export class DealtSleeps {
  readonly #sleepsMs: ArrayLike<number>;
  /** Durations by task, if tasks may run again with the same duration. */
  readonly #ofTask: Map<number, Millis> | undefined;
  #dealt = 0;

  constructor(sleepsMs: ArrayLike<number>, mayRunAgain = false) {
    this.#sleepsMs = sleepsMs;
    this.#ofTask = mayRunAgain ? new Map() : undefined;
  }

  /** Number of durations dealt. */
  get dealt(): number {
    return this.#dealt;
  }

  /** Returns the run time of a starting task. */
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
 * Returns the job with tasks that take the durations of their batch in the order in which they start. It can
 * run once.
 *
 * @param source draws the order of durations, for sampled jobs: the order in a trace may depend on its
 * machines, but pilots must be random (SLearn §5.1.2)
 * @param mayRunAgain whether a task may be preempted; it then takes as long as before
 */
export function dealtByStart(spec: JobSpec, source?: { random(): number }, mayRunAgain = false): JobSpec {
  // The run time of these tasks depends on their worker.
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

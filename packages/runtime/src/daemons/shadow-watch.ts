import type { PolicySettings } from '@goshawk/core';
import { Scoreboard } from '@goshawk/predictor';
import { type Job, TaskState } from '@goshawk/scheduler';

/**
 * Estimators in shadow of a scheduler: they hear of each job that it accepts, and of each that ends, and it hears
 * nothing of them. What they score is among its counters, so that the scores of all schedulers add up.
 */
export class ShadowWatch {
  readonly #names: readonly string[];
  readonly #seed: string;
  readonly #policy: () => PolicySettings;
  #board: Scoreboard | undefined;

  /**
   * @param names of estimators that there are
   * @param policy asked once there is a job; what it says of cutoff and pilots then holds for all
   */
  constructor(names: readonly string[], seed: string, policy: () => PolicySettings) {
    this.#names = names;
    this.#seed = seed;
    this.#policy = policy;
  }

  accepted({ id, arriving }: Job): void {
    this.#board ??= new Scoreboard(this.#names, this.#policy(), this.#seed);
    this.#board.arrived(id, arriving);
  }

  ended(job: Job): void {
    const completed = job.state === 'completed';
    this.#board?.ended(job.id, {
      completed,
      runtimeMs: job.endedAt! - job.arrivedAt,
      runsMs: completed
        ? job.tasks.runMs
        : job.tasks.runMs.filter((_, task) => job.tasks.stateOf(task) === TaskState.completed),
    });
  }

  /** Counts by estimator. */
  counts(): Readonly<Record<string, unknown>> {
    return this.#board?.counts() ?? {};
  }
}

import type { PolicySettings } from '@goshawk/core';
import { Scoreboard } from '@goshawk/predictor';
import type { Job } from '@goshawk/scheduler';

/**
 * Runs estimators in shadow of a scheduler: they observe each accepted and ended job, and do not influence it. Their scores are
 * counters of the scheduler, so scores of several schedulers add up.
 */
export class ShadowWatch {
  readonly #names: readonly string[];
  readonly #seed: string;
  readonly #policy: () => PolicySettings;
  #board: Scoreboard | undefined;

  /**
   * @param names of existing estimators
   * @param policy called when the first job arrives; its cutoff and pilots apply to all
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
      runtimeMs: job.endedAt! - job.eligibleAt,
      runsMs: job.tasks.completedRunMs(),
    });
  }

  /** Returns counts by estimator. */
  counts(): Readonly<Record<string, unknown>> {
    return this.#board?.counts() ?? {};
  }
}

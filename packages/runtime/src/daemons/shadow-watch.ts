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
  readonly #failed: (estimator: string, error: unknown) => void;
  #board: Scoreboard | undefined;

  /**
   * @param names of existing estimators
   * @param policy called when the first job arrives; its cutoff and pilots apply to all
   * @param failed receives each exception and invalid answer of an estimator
   */
  constructor(
    names: readonly string[],
    seed: string,
    policy: () => PolicySettings,
    failed: (estimator: string, error: unknown) => void,
  ) {
    this.#names = names;
    this.#seed = seed;
    this.#policy = policy;
    this.#failed = failed;
  }

  accepted({ id, arriving }: Job): void {
    this.#board ??= new Scoreboard(this.#names, this.#policy(), this.#seed, {}, this.#failed);
    this.#board.arrived(id, arriving);
  }

  ended(job: Job): void {
    const completed = job.state === 'completed';
    this.#board?.ended(job.id, {
      completed,
      runtimeMs: job.doneAt! - job.times.eligibleAt,
      runsMs: job.tasks.completedRunMs(),
    });
  }

  /** Returns counts by estimator. */
  counts(): Readonly<Record<string, unknown>> {
    return this.#board?.counts() ?? {};
  }
}

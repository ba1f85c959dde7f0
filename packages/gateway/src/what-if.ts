import type { Cluster } from '@goshawk/client';
import type { Priority } from '@goshawk/core';
import type { z } from 'zod';
import { Refused } from './errors.js';
import { LIMITS } from './limits.js';
import type { jobWhatIf } from './schemas.js';

/** A change to the cluster or to a job. */
export interface JobChange {
  /** Number of additional workers; negative: fewer workers. */
  readonly workers?: number | undefined;
  readonly priority?: Priority | undefined;
  readonly policy?: string | undefined;
}

/** Predicts the start of a job with each change, without blocking this thread. */
export type Predict = (
  cluster: Cluster,
  job: string,
  changes: readonly JobChange[],
  signal: AbortSignal,
) => Promise<z.input<typeof jobWhatIf>>;

/** Runs one prediction at a time, so that predictions take at most one CPU. */
export class Predictions {
  readonly #predict: Predict | undefined;
  #last: Promise<unknown> = Promise.resolve();
  #pending = 0;

  /** @param predict the simulator; undefined: not installed */
  constructor(predict: Predict | undefined) {
    this.#predict = predict;
  }

  /** @throws Refused if the simulator is not installed, or too many predictions wait */
  async ask(...[cluster, job, changes, signal]: Parameters<Predict>): ReturnType<Predict> {
    const predict = this.#predict;
    if (predict === undefined)
      throw new Refused(
        501,
        'no-laboratory',
        'the simulator is in @goshawk/lab, which is not installed here',
        'install it beside @goshawk/cli',
      );
    if (this.#pending > LIMITS.predictionsWaitingMax)
      throw new Refused(
        503,
        'overloaded',
        `${this.#pending} predictions are running or waiting`,
        'try again in a few seconds',
      );
    this.#pending++;
    const before = this.#last;
    const own = before.then(async () => {
      signal.throwIfAborted();
      return predict(cluster, job, changes, signal);
    });
    this.#last = own.catch(() => {});
    return own.finally(() => {
      this.#pending--;
    });
  }
}

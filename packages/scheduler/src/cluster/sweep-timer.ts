import type { Millis } from '@goshawk/core';
import type { SchedulerEnvironment } from '../contract.js';
import type { Cluster } from './cluster.js';

/** Wakes the scheduler one retry interval after sending a message that may be lost. */
export class SweepTimer {
  readonly #env: SchedulerEnvironment;
  readonly #cluster: Cluster;
  #isArmed = false;
  #dueAt: Millis = 0;

  constructor(env: SchedulerEnvironment, cluster: Cluster) {
    this.#env = env;
    this.#cluster = cluster;
  }

  arm(now: Millis): void {
    const { retryMs } = this.#cluster.timings;
    if (this.#isArmed || retryMs === 0) return;
    this.#isArmed = true;
    this.#dueAt = now + retryMs;
    this.#env.setTimer('sweep', 0, this.#dueAt);
  }

  /** Handles the expired timer. @returns how late it fired */
  fired(now: Millis): Millis {
    this.#isArmed = false;
    return now - this.#dueAt;
  }
}

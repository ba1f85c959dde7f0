import type { Millis } from '@goshawk/core';
import { isUnmet } from '../cluster/admission.js';
import type { Job } from '../job/job.js';
import type { JobListener } from '../job/job-events.js';
import type { SchedulerState } from '../state.js';
import type { Predecessors } from './predecessors.js';

/** Finds out when a draining scheduler is done: no job of it can continue. These jobs stay in its journal. */
export class Draining implements JobListener {
  readonly #s: SchedulerState;
  readonly #predecessors: Predecessors;

  constructor(s: SchedulerState, predecessors: Predecessors) {
    this.#s = s;
    this.#predecessors = predecessors;
  }

  ended(): void {
    this.tellIfDrained();
  }

  changed(job: Job): void {
    if (job.isHeld && job.runningCount === 0) this.tellIfDrained();
  }

  tellIfDrained(): void {
    if (this.#s.cluster.isDraining && this.#predecessors.areAllStuck(() => false)) this.#s.env.drained();
  }

  /** Jobs that no worker can run count as stuck as well, once all workers had the time to join. */
  tellIfStuck(now: Millis): void {
    const { cluster, ledger } = this.#s;
    if (!cluster.isDraining || !ledger.isKept || cluster.isRosterYoung(now)) return;
    if (this.#predecessors.areAllStuck((job) => isUnmet(job, cluster))) this.#s.env.drained();
  }
}

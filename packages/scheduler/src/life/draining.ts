import type { Millis } from '@goshawk/core';
import { hasUnmetNeeds } from '../cluster/admission.js';
import type { Job } from '../job/job.js';
import type { JobListener } from '../job/job-events.js';
import type { SchedulerState } from '../state.js';
import type { Predecessors } from './predecessors.js';

/** Detects when a draining scheduler may exit. Jobs that cannot continue do not delay the exit; they stay in the journal. */
export class Draining implements JobListener {
  readonly #s: SchedulerState;
  readonly #predecessors: Predecessors;

  constructor(s: SchedulerState, predecessors: Predecessors) {
    this.#s = s;
    this.#predecessors = predecessors;
  }

  ended(): void {
    this.reportIfDrained();
  }

  changed(job: Job): void {
    if (job.isIdle) this.reportIfDrained();
  }

  reportIfDrained(): void {
    if (this.#s.cluster.isDraining && this.#predecessors.areAllStuck(() => false)) this.#s.env.drained();
  }

  /** Also reports the drain as complete if no worker can run the remaining jobs, once all workers have had time to join. */
  reportIfStuck(now: Millis): void {
    const { cluster, ledger } = this.#s;
    if (!cluster.isDraining || !ledger.hasJournal || cluster.mayMissWorkers(now)) return;
    const hasNoWorkers = cluster.members.size === 0;
    const isUnmet = (job: Job) => (hasNoWorkers ? job.runningCount === 0 : hasUnmetNeeds(job, cluster));
    if (this.#predecessors.areAllStuck(isUnmet)) this.#s.env.drained();
  }
}

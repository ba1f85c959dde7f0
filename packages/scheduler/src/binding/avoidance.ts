import { type Address, effectiveScope, type Millis, type TaskIndex } from '@goshawk/core';
import type { Batch } from '../job/batch.js';
import type { Job } from '../job/job.js';
import { hasBesides } from '../joining/able-workers.js';
import type { Enlistment } from '../joining/enlistment.js';
import type { Members } from '../joining/members.js';

/** Which tasks may go to a worker: a retry avoids the workers it failed on, where there are others. */
export class Avoidance {
  readonly #members: Members;
  readonly #enlistment: Enlistment;

  constructor(members: Members, enlistment: Enlistment) {
    this.#members = members;
    this.#enlistment = enlistment;
  }

  /** Which tasks of the batch may go to the worker; undefined: all. */
  filterFor(
    job: Job,
    { spec, over }: Batch,
    worker: Address,
    now: Millis,
  ): ((task: TaskIndex) => boolean) | undefined {
    const { blame } = job.history;
    // Without retries nobody would come back for what was passed over.
    if (blame === undefined || this.#enlistment.timings.retryMs === 0) return undefined;
    const scope = effectiveScope(this.#enlistment.policy.preset, over ?? job.route.over);
    const hasOther = (besides: readonly Address[]) => hasBesides(this.#members, besides, scope, spec);
    return (task) => blame.mayGo(task, worker, hasOther, now);
  }

  /**
   * Whether the worker lacks what the batch requires. Who sent an unknown one has seen what it has: central, or whom it
   * took a probe from.
   */
  isBarred({ spec }: Batch, worker: Address): boolean {
    return spec.requires !== undefined && this.#members.has(worker) && !this.#members.mayRun(worker, spec);
  }

  /** Whether a waiting task of the batch may go to the worker, which nobody has sent. */
  hasTaskFor(job: Job, batch: Batch, worker: Address, now: Millis): boolean {
    if (batch.spec.requires !== undefined && !this.#members.mayRun(worker, batch.spec)) return false;
    const mayGo = this.filterFor(job, batch, worker, now);
    return mayGo === undefined || job.waiting.has(batch, mayGo);
  }
}

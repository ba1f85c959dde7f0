import {
  type Address,
  countBesides,
  effectiveScope,
  hasBesides,
  type Millis,
  type TaskIndex,
} from '@goshawk/core';
import type { Cluster } from '../cluster/cluster.js';
import type { UnfitWorkers } from '../cluster/unfit-workers.js';
import type { Batch } from '../job/batch.js';
import type { Job } from '../job/job.js';

/** Maximum count of healthy workers. A task that failed at this many workers may run on any worker. */
const HEALTHY_MAX = 16;

/**
 * Decides which tasks may run at a worker: the worker must have what they require, and a retry avoids workers where it
 * failed if there are others.
 */
export class Avoidance {
  readonly #cluster: Cluster;
  readonly #unfit: UnfitWorkers;

  constructor(cluster: Cluster, unfit: UnfitWorkers) {
    this.#cluster = cluster;
    this.#unfit = unfit;
  }

  /** Takes the next task of the batch that may run at the worker; −1: none. */
  takeNext(job: Job, batch: Batch, worker: Address, now: Millis): TaskIndex {
    return this.#permits(batch, worker)
      ? job.waiting.takeNext(batch, this.#filterFor(job, batch, worker, now))
      : -1;
  }

  /** Whether a waiting task of the batch may run at a worker that was neither probed nor matched. */
  hasTaskFor(job: Job, batch: Batch, worker: Address, now: Millis): boolean {
    const isUnknown = !this.#cluster.members.has(worker);
    if ((isUnknown && batch.spec.requires !== undefined) || !this.#permits(batch, worker)) return false;
    const isAllowed = this.#filterFor(job, batch, worker, now);
    return isAllowed === undefined || job.waiting.canTake(batch, isAllowed);
  }

  /**
   * Whether the batch may use the worker. Central, or the victim of a steal, has checked a worker that this scheduler does
   * not know yet.
   */
  #permits({ spec }: Batch, worker: Address): boolean {
    if (spec.requires === undefined) return true;
    const { members } = this.#cluster;
    return !members.has(worker) || members.meetsRequirements(worker, spec);
  }

  /** Filter for the tasks of the batch that may run at the worker; undefined: all may. */
  #filterFor(
    job: Job,
    { spec, scope: probeScope }: Batch,
    worker: Address,
    now: Millis,
  ): ((task: TaskIndex) => boolean) | undefined {
    const { blame } = job.history;
    // Without the retry timer, a skipped task would never be considered again.
    if (blame === undefined || this.#cluster.timings.retryMs === 0) return undefined;
    const scope = effectiveScope(this.#cluster.joinedPolicy.preset, probeScope ?? job.route.over);
    const hasOthers = (besides: readonly Address[]) =>
      hasBesides(this.#cluster.members, besides, scope, spec);
    const isFailing = this.#unfit.failingFor(job.spec.user).has(worker);
    const healthy = isFailing
      ? this.healthyWorkers(job, { spec, scope: probeScope })
      : Number.POSITIVE_INFINITY;
    return (task) => blame.mayRunAt(task, worker, { isFailing, sound: healthy }, hasOthers, now);
  }

  /** Number of workers for the batch at which no task of its user currently fails, up to a limit. */
  healthyWorkers(job: Job, { spec, scope: probeScope }: Pick<Batch, 'spec' | 'scope'>): number {
    const failing = this.#unfit.failingFor(job.spec.user);
    const scope = effectiveScope(this.#cluster.joinedPolicy.preset, probeScope ?? job.route.over);
    return countBesides(this.#cluster.members, failing, scope, spec, HEALTHY_MAX);
  }
}

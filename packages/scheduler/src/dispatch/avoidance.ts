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

/** Decides which tasks may run at a worker: a retry avoids workers where it failed, if there are others. */
export class Avoidance {
  readonly #cluster: Cluster;
  readonly #unfit: UnfitWorkers;

  constructor(cluster: Cluster, unfit: UnfitWorkers) {
    this.#cluster = cluster;
    this.#unfit = unfit;
  }

  /** Filter for the tasks of the batch that may run at the worker; undefined: all may. */
  filterFor(
    job: Job,
    { spec, scope: probeScope }: Batch,
    worker: Address,
    now: Millis,
  ): ((task: TaskIndex) => boolean) | undefined {
    const { blame } = job.history;
    // Without the retry timer, a skipped task would never be considered again.
    if (blame === undefined || this.#cluster.timings.retryMs === 0) return undefined;
    const scope = effectiveScope(this.#cluster.policy.preset, probeScope ?? job.route.over);
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
    const scope = effectiveScope(this.#cluster.policy.preset, probeScope ?? job.route.over);
    return countBesides(this.#cluster.members, failing, scope, spec, HEALTHY_MAX);
  }

  /**
   * Whether the worker lacks what the batch requires. For an unknown worker, central or the victim of a steal has
   * already checked it.
   */
  lacksRequirements({ spec }: Batch, worker: Address): boolean {
    return (
      spec.requires !== undefined &&
      this.#cluster.members.has(worker) &&
      !this.#cluster.members.meetsRequirements(worker, spec)
    );
  }

  /** Whether a waiting task of the batch may run at a worker that was neither probed nor matched. */
  hasTaskFor(job: Job, batch: Batch, worker: Address, now: Millis): boolean {
    if (batch.spec.requires !== undefined && !this.#cluster.members.meetsRequirements(worker, batch.spec))
      return false;
    const isAllowed = this.filterFor(job, batch, worker, now);
    return isAllowed === undefined || job.waiting.canTake(batch, isAllowed);
  }
}

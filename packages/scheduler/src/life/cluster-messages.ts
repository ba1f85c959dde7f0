import { type Address, LIMITS, type MessageOf, type Millis, NOBODY } from '@goshawk/core';
import type { Binder } from '../dispatch/binder.js';
import type { Dispatch } from '../dispatch/dispatch.js';
import type { Routing } from '../dispatch/routing.js';
import type { Sampler } from '../dispatch/sampler.js';
import { setDeadlineTimer } from '../job/job-timers.js';
import type { SchedulerState } from '../state.js';
import type { Draining } from './draining.js';
import type { Keys } from './keys.js';
import type { Reconciler } from './reconciler.js';

/** Handles central's messages about its policy, limits and workers, and sends heartbeats. */
export class ClusterMessages {
  readonly #s: SchedulerState;
  readonly #binder: Binder;
  readonly #routing: Routing;
  readonly #sampler: Sampler;
  readonly #draining: Draining;
  readonly #keys: Keys;
  readonly #reconciler: Reconciler;

  constructor(
    s: SchedulerState,
    { binder, routing, sampler }: Dispatch,
    draining: Draining,
    keys: Keys,
    reconciler: Reconciler,
  ) {
    this.#s = s;
    this.#binder = binder;
    this.#routing = routing;
    this.#sampler = sampler;
    this.#draining = draining;
    this.#keys = keys;
    this.#reconciler = reconciler;
  }

  welcomed(from: Address, message: MessageOf<'welcome'>, now: Millis): void {
    const { cluster, usage } = this.#s;
    const { isDisconnected: isCutOff } = cluster;
    const isNew = cluster.welcomed(from, message, now);
    this.#s.notifications.admitted();
    const { joinedPolicy: policy } = cluster;
    this.#sampler.setPolicy(policy);
    if (!isNew) {
      usage.setPolicy(policy, now);
      return isCutOff ? this.#routing.centralReconnected(now) : undefined;
    }
    this.#s.quotas.centralReplaced();
    for (const job of this.#s.jobs.active()) setDeadlineTimer(job, cluster, this.#s.env);
    usage.centralChanged(from, policy, now);
    this.#routing.centralReplaced(now);
    this.#reconciler.centralChanged(now);
  }

  /** Sends a heartbeat. @param startedAt start of this process */
  sendHeartbeat(startedAt: Millis, now: Millis): void {
    const { cluster, jobs } = this.#s;
    this.#workersLost(cluster.dropMissingWorkers(), now);
    jobs.evictOld(now);
    // All adopted jobs have ended and expired, so clients have had time to read their results.
    const isOver = this.#s.config.adopted === true && jobs.isEmpty && this.#s.ledger.isDurable;
    if (isOver && now - startedAt > LIMITS.endedAgeMinMs) {
      cluster.retire();
      return this.#s.env.drained();
    }
    cluster.heartbeat(jobs.activeCount, () => jobs.waitingTaskCount, now);
    if (cluster.central !== NOBODY && this.#s.quotas.mustReportUsage)
      this.#s.env.send(cluster.central, { type: 'holdings', users: this.#s.quotas.usageReport() });
    if (cluster.central !== NOBODY) this.#s.notices.report(cluster.central);
    this.#routing.probeWithoutCentral(now);
    this.#draining.reportIfStuck(now);
  }

  /** Handles central's acknowledgment of a heartbeat. */
  acknowledged(from: Address, message: MessageOf<'heartbeatAck'>, now: Millis): void {
    const { cluster } = this.#s;
    if (from !== cluster.central) return;
    if (this.#s.quotas.isOfFormerCentral && !cluster.mayMissWorkers(now)) this.#s.quotas.clear();
    if (cluster.acknowledged(from, message, this.#keys.version, now)) this.#routing.sheddingChanged(now);
    if (message.waiting !== undefined) this.#routing.correctCentral(message.waiting, now);
  }

  /** Sets the limits of users. If these are the first ones, sends the needs of waiting jobs to central again. */
  limitsReceived(message: MessageOf<'limits'>, now: Millis): void {
    const wereSet = this.#s.quotas.hasLimits;
    this.#s.quotas.setLimits(message);
    if (!wereSet && this.#s.quotas.hasLimits) this.#routing.centralReconnected(now);
  }

  /** Applies central's message that workers have joined, changed or left. */
  membersChanged(from: Address, message: MessageOf<'members'>, now: Millis): void {
    const { cluster, ledger } = this.#s;
    if (from !== cluster.central) return;
    cluster.centralResponded(now);
    const gone = cluster.members.apply(message);
    if (gone === undefined) return this.#s.env.send(from, { type: 'resync' });
    if (!ledger.isShared) this.#keys.onMembers(from, message, now);
    else this.#keys.setVersion(message);
    this.#workersLost(gone, now, silentMsByWorker(message));
    this.#reconciler.joined(message.changed, now);
    // A batch may have waited for workers like the new ones.
    if (message.changed.length > 0) this.#routing.workersChanged(now);
  }

  #workersLost(
    addresses: readonly Address[],
    now: Millis,
    silentMs: ReadonlyMap<Address, Millis> = NONE,
  ): void {
    if (addresses.length === 0) return;
    const gone = new Set(addresses);
    this.#binder.removeWorkers(gone);
    const affected = this.#routing.prober.workersLost(gone);
    // Central may have matched a lost worker with a job that still has more tasks to report.
    for (const worker of gone)
      for (const job of this.#s.jobs.withTasksAt(worker))
        if (job.batches.some(({ waiting, needSent }) => waiting > needSent)) affected.add(job);
    this.#reconciler.lost(gone, silentMs, now);
    this.#s.unfit.lost(gone);
    const inOrder = [...affected].sort((one, other) => one.number - other.number);
    for (const job of inOrder) this.#routing.findWorkersForAll(job, now);
    // A single worker serves both partitions, so jobs that waited for a partition without workers may start.
    if (this.#s.cluster.members.size === 1) this.#routing.workersChanged(now);
  }
}

const NONE: ReadonlyMap<Address, Millis> = new Map();

/** Time since the last heartbeat of each lost worker; empty if central has not reported it. */
function silentMsByWorker({ left, silentMs }: MessageOf<'members'>): ReadonlyMap<Address, Millis> {
  return silentMs === undefined ? NONE : new Map(left.map((worker, at) => [worker, silentMs[at] ?? 0]));
}

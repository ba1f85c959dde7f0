import { type Address, LIMITS, type MessageOf, type Millis, NOBODY } from '@goshawk/core';
import { hasUnmetNeeds } from '../cluster/admission.js';
import { forgetRequests } from '../dispatch/binding.js';
import { dropProbesAt } from '../dispatch/probing.js';
import {
  centralReconnected,
  centralReplaced,
  correctCentral,
  findWorkersForAll,
  probeWithoutCentral,
  sheddingChanged,
  workersChanged,
} from '../dispatch/routing.js';
import type { Job } from '../job/job.js';
import type { JobListener } from '../job/job-events.js';
import { setDeadlineTimer } from '../job/job-timers.js';
import type { SchedulerState } from '../state/state.js';
import { areAllStuck } from './predecessors.js';
import { askJoined, auditForNewCentral, endAttemptsAt } from './reconciling.js';

// Handles central's messages about its policy, limits and workers, and sends heartbeats.

export function welcomed(s: SchedulerState, from: Address, message: MessageOf<'welcome'>, now: Millis): void {
  const { cluster, usage } = s;
  const { isDisconnected: isCutOff } = cluster;
  const isNew = cluster.welcomed(from, message, now);
  s.notifications.admitted();
  const { joinedPolicy: policy } = cluster;
  s.estimators.setPolicy(policy);
  if (!isNew) {
    usage.setPolicy(policy, now);
    return isCutOff ? centralReconnected(s, now) : undefined;
  }
  s.quotas.centralReplaced();
  for (const job of s.jobs.active()) setDeadlineTimer(job, cluster, s.env);
  usage.centralChanged(from, policy, now);
  centralReplaced(s, now);
  auditForNewCentral(s, now);
}

/** Sends a heartbeat. @param startedAt start of this process */
export function sendHeartbeat(s: SchedulerState, startedAt: Millis, now: Millis): void {
  const { cluster, jobs } = s;
  workersLost(s, cluster.dropMissingWorkers(), now);
  jobs.evictOld(now);
  // All adopted jobs have ended and expired, so clients have had time to read their results.
  const isOver = s.config.adopted === true && jobs.isEmpty && s.ledger.isDurable;
  if (isOver && now - startedAt > LIMITS.endedAgeMinMs) {
    cluster.retire();
    return s.env.drained();
  }
  cluster.heartbeat(jobs.activeCount, () => jobs.waitingTaskCount, now);
  if (cluster.central !== NOBODY && s.quotas.mustReportUsage)
    s.env.send(cluster.central, { type: 'holdings', users: s.quotas.usageReport() });
  if (cluster.central !== NOBODY) s.notices.report(cluster.central);
  probeWithoutCentral(s, now);
  reportIfStuck(s, now);
}

/** Handles central's acknowledgment of a heartbeat. */
export function heartbeatAcknowledged(
  s: SchedulerState,
  from: Address,
  message: MessageOf<'heartbeatAck'>,
  now: Millis,
): void {
  const { cluster } = s;
  if (from !== cluster.central) return;
  if (s.quotas.isOfFormerCentral && !cluster.mayMissWorkers(now)) s.quotas.clear();
  if (cluster.acknowledged(from, message, s.keys.version, now)) sheddingChanged(s, now);
  if (message.waiting !== undefined) correctCentral(s, message.waiting, now);
}

/** Sets the limits of users. If these are the first ones, sends the needs of waiting jobs to central again. */
export function limitsReceived(s: SchedulerState, message: MessageOf<'limits'>, now: Millis): void {
  const wereSet = s.quotas.hasLimits;
  s.quotas.setLimits(message);
  if (!wereSet && s.quotas.hasLimits) centralReconnected(s, now);
}

/** Applies central's message that workers have joined, changed or left. */
export function membersChanged(
  s: SchedulerState,
  from: Address,
  message: MessageOf<'members'>,
  now: Millis,
): void {
  const { cluster, ledger } = s;
  if (from !== cluster.central) return;
  cluster.centralResponded(now);
  const gone = cluster.members.apply(message);
  if (gone === undefined) return s.env.send(from, { type: 'resync' });
  if (!ledger.isShared) s.keys.onMembers(from, message, now);
  else s.keys.onSharedMembers(message);
  workersLost(s, gone, now, silentMsByWorker(message));
  askJoined(s, message.changed, now);
  // A batch may have waited for workers like the new ones.
  if (message.changed.length > 0) workersChanged(s, now);
}

function workersLost(
  s: SchedulerState,
  addresses: readonly Address[],
  now: Millis,
  silentMs: ReadonlyMap<Address, Millis> = NONE,
): void {
  if (addresses.length === 0) return;
  const gone = new Set(addresses);
  forgetRequests(s, gone);
  const affected = dropProbesAt(s, gone);
  // Central may have matched a lost worker with a job that still has more tasks to report.
  for (const worker of gone)
    for (const job of s.jobs.withTasksAt(worker))
      if (job.batches.some(({ waiting, needSent }) => waiting > needSent)) affected.add(job);
  endAttemptsAt(s, gone, silentMs, now);
  s.unfit.removeWorkers(gone);
  const inOrder = [...affected].sort((one, other) => one.number - other.number);
  for (const job of inOrder) findWorkersForAll(s, job, now);
  // A single worker serves both partitions, so jobs that waited for a partition without workers may start.
  if (s.cluster.members.size === 1) workersChanged(s, now);
}

const NONE: ReadonlyMap<Address, Millis> = new Map();

/** Time since the last heartbeat of each lost worker; empty if central has not reported it. */
function silentMsByWorker({ left, silentMs }: MessageOf<'members'>): ReadonlyMap<Address, Millis> {
  return silentMs === undefined ? NONE : new Map(left.map((worker, at) => [worker, silentMs[at] ?? 0]));
}

// Detects when a draining scheduler may exit. Jobs that cannot continue do not delay the exit; they stay in the journal.

export function drainListener(s: SchedulerState): JobListener {
  return {
    ended: () => reportIfDrained(s),
    changed: (job) => {
      if (job.isIdle) reportIfDrained(s);
    },
  };
}

export function reportIfDrained(s: SchedulerState): void {
  if (s.cluster.isDraining && areAllStuck(s, () => false)) s.env.drained();
}

/** Also reports the drain as complete if no worker can run the remaining jobs, once all workers have had time to join. */
function reportIfStuck(s: SchedulerState, now: Millis): void {
  const { cluster, ledger } = s;
  if (!cluster.isDraining || !ledger.hasJournal || cluster.mayMissWorkers(now)) return;
  const hasNoWorkers = cluster.members.size === 0;
  const isUnmet = (job: Job) => (hasNoWorkers ? job.runningCount === 0 : hasUnmetNeeds(job, cluster));
  if (areAllStuck(s, isUnmet)) s.env.drained();
}

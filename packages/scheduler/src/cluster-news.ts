import { type Address, LIMITS, type MessageOf, type Millis, NOBODY } from '@goshawk/core';
import { watchDeadline } from './job/job-timers.js';
import { loseTasks } from './life/lost-workers.js';
import type { SchedulerParts } from './parts.js';
import { startIfRecovered } from './restarting.js';

// Central welcomes this scheduler, hears its heartbeat, and tells it of workers that come and go.

export function welcomed(s: SchedulerParts, from: Address, message: MessageOf<'welcome'>, now: Millis): void {
  const { cluster, routing, usage } = s;
  const { heardAt, timings, isCutOff } = cluster;
  const isNew = cluster.welcomed(from, message, now);
  const { policy } = cluster;
  s.sampler.adopt(policy);
  if (!isNew) {
    usage.adopt(policy, now);
    return isCutOff ? routing.centralIsBack(now) : undefined;
  }
  s.quotas.forget();
  for (const job of s.jobs.active()) watchDeadline(job, policy, s.env);
  usage.startAnew(from, policy, now);
  routing.tellAnotherCentral(now);
  if (s.delivery.centralChanged(heardAt, timings.leaseMs, now)) s.sweepTimer.arm(now);
}

/** It is time for a heartbeat. @param startedAt when this process was */
export function beat(s: SchedulerParts, startedAt: Millis, now: Millis): void {
  const { cluster, jobs } = s;
  workersLost(s, cluster.dropMissingWorkers(), now);
  jobs.forgetOld(now);
  // Nothing is left of the jobs that it has adopted, and clients have had the time to ask for them.
  const isOver = s.config.adopted === true && jobs.isEmpty && s.ledger.isDurable;
  if (isOver && now - startedAt > LIMITS.endedAgeMinMs) {
    cluster.retire();
    return s.env.drained();
  }
  cluster.beat(jobs.activeCount, () => waitingTasks(s), now);
  if (cluster.central !== NOBODY && s.quotas.areShared)
    s.env.send(cluster.central, { type: 'holdings', users: s.quotas.holdings() });
  s.routing.doWithoutCentral(now);
  s.tellIfStuck(now);
}

/** Central says which limits users have. It has to know whose jobs those are that wait already. */
export function limitsHeard(s: SchedulerParts, message: MessageOf<'limits'>, now: Millis): void {
  const wereSet = s.quotas.areSet;
  s.quotas.heard(message);
  if (!wereSet && s.quotas.areSet) s.routing.centralIsBack(now);
}

/** Jobs on hold or with unfinished predecessors need no workers yet. */
function waitingTasks({ jobs }: SchedulerParts): number {
  let waiting = 0;
  for (const job of jobs.active()) if (!job.isAwaiting && !job.isHeld) waiting += job.tasks.waiting;
  return waiting;
}

/** Workers have come, or are gone. */
export function membersChanged(
  s: SchedulerParts,
  from: Address,
  message: MessageOf<'members'>,
  now: Millis,
): void {
  const { cluster, keys } = s;
  if (from !== cluster.central) return;
  cluster.heard(now);
  const gone = cluster.members.apply(message);
  if (gone === undefined) return s.env.send(from, { type: 'resync' });
  if (!s.ledger.isShared) keys.onMembers(from, message, now);
  else keys.listed(message);
  workersLost(s, gone, now);
  const mayAskAgain = s.recovery.workersJoined(message.changed, now);
  startIfRecovered(s, now);
  if (mayAskAgain) s.sweepTimer.arm(now);
  s.abandoned.cameBack(message.changed);
  // Those that came may be what a batch has waited for.
  if (message.changed.length > 0) s.routing.findForThoseThatProbe(now);
}

function workersLost(s: SchedulerParts, addresses: readonly Address[], now: Millis): void {
  if (addresses.length === 0) return;
  const gone = new Set(addresses);
  s.binder.forget(gone);
  for (const job of s.jobs.active()) for (const batch of job.batches) batch.probes.drop(gone);
  loseTasks(s, gone, now);
  s.unfit.lost(gone);
  for (const job of [...s.jobs.active()]) s.routing.findAll(job, now);
  s.recovery.lost(gone);
  startIfRecovered(s, now);
  s.audit.lost(gone);
}

import type { Address, MessageOf, Millis } from '@goshawk/core';
import type { WorkerRecord } from '../cluster/registry.js';
import type { CentralState } from '../state.js';
import { restoreSchedulers, schedulerLeasesEnded, schedulerLeft } from './scheduler-membership.js';
import { restoreWorkers, workerHeartbeat, workerLeasesEnded, workerLeft } from './worker-membership.js';

// Keeps track of the parties of the cluster: their heartbeats and leases, and what each knows about the others.

export function startMembership(s: CentralState, now: Millis): void {
  s.leases.start(now);
  s.expected.start(now);
  armLease(s, now);
}

export function isMember(s: CentralState, party: Address): boolean {
  return s.registry.workers.has(party) || s.registry.schedulers.members.has(party);
}

/** Sends the complete lists to a party that has missed an update. */
export function resync(s: CentralState, from: Address, now: Millis): void {
  s.publisher.addNewcomer(from);
  s.publisher.publishSoon(now);
}

/** Records parties that were members under the previous central, as a scheduler reports. */
export function restoreMembers(
  s: CentralState,
  from: Address,
  { schedulers, workers }: MessageOf<'remember'>,
  now: Millis,
): void {
  if (!s.registry.schedulers.members.has(from)) return;
  restoreSchedulers(s, schedulers);
  restoreWorkers(s, workers, now);
}

// ---- heartbeats

/** Records that a connection broke. Another party may then take the name or journal before the lease ends. */
export function connectionBroke(s: CentralState, from: Address, now: Millis): void {
  const party = s.registry.workers.get(from) ?? s.registry.schedulers.members.get(from);
  if (party !== undefined) party.brokeAt = now;
}

/**
 * Records a heartbeat of a member.
 *
 * @returns the record of the worker; undefined if the sender is not a worker
 */
export function recordHeartbeat(
  s: CentralState,
  from: Address,
  message: MessageOf<'heartbeat'>,
  now: Millis,
): WorkerRecord | undefined {
  const worker = s.registry.workers.get(from);
  const scheduler = s.registry.schedulers.members.get(from);
  if (worker !== undefined) workerHeartbeat(s, worker, message, now);
  else if (scheduler !== undefined) {
    scheduler.lastSeenAt = now;
    scheduler.jobs = message.busy;
    scheduler.waiting = message.queued;
    const { wallOffsetMs } = s.config;
    if (message.clock !== undefined && wallOffsetMs !== undefined)
      scheduler.clock.add(message.clock - wallOffsetMs - now, now);
  }
  return worker;
}

export function acknowledge(s: CentralState, party: Address, matching: boolean): void {
  // This party receives the next update in any case.
  if (s.publisher.isUpdateDue(party)) return;
  const { ownersVersion } = s.publisher;
  const version = s.publisher.versionFor(party);
  const isScheduler = s.registry.schedulers.members.has(party);
  const waiting = isScheduler ? s.dispatcher.listWaiting(party) : undefined;
  s.env.send(party, { type: 'heartbeatAck', version, ownersVersion, matching, waiting });
}

// ---- leaving

export function partyLeft(s: CentralState, from: Address, now: Millis): void {
  const worker = s.registry.workers.get(from);
  if (worker !== undefined) workerLeft(s, worker, now);
  const scheduler = s.registry.schedulers.members.get(from);
  if (scheduler !== undefined) schedulerLeft(s, scheduler, now);
}

export function endLeases(s: CentralState, now: Millis): void {
  const { workers, schedulers, givenUp } = s.leases.ended(now);
  workerLeasesEnded(s, workers, now);
  schedulerLeasesEnded(s, schedulers, givenUp, now);
  armLease(s, now);
}

function armLease(s: CentralState, now: Millis): void {
  const at = s.leases.nextCheck(now);
  if (at !== undefined) s.env.setTimer('lease', 0, at);
}

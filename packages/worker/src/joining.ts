import { type Address, findsWork, type MessageOf, type Millis, NOBODY, patienceMsOf } from '@goshawk/core';
import { giveBackKept } from './foreseeing.js';
import { giveBackMembers } from './gang-members.js';
import { giveBack } from './giving-back.js';
import { orphanTasksOf, rehome, reportTasks } from './held-tasks.js';
import { detectSuspension, reportIfDrained } from './lifecycle.js';
import { nextBeat } from './membership.js';
import type { WorkerParts } from './parts.js';
import { dropAsks } from './questions.js';
import { register, scheduleBeat, scheduleHeartbeat } from './registering.js';
import { seriesMsOf } from './series.js';
import { serveOrFind } from './serving.js';
import { NONE_SUPERSEDED } from './state.js';
import { Stealing } from './stealing.js';
import { WorkFinder } from './work-finder.js';

// Membership of a worker in a cluster: registration, heartbeats, and updates about schedulers and other workers.

/** Handles a welcome: settings of the cluster, and possibly a new central. */
export function welcomed(
  w: WorkerParts,
  from: Address,
  { settings }: MessageOf<'welcome'>,
  now: Millis,
): void {
  const { policy, timings } = settings;
  const { preset } = policy;
  const { central: before, isCutOff } = w.membership;
  const isFirst = before === NOBODY;
  w.membership.welcome(from, settings, now);
  w.timings = timings;
  if (w.reports.size > 0) w.armSweep(now);
  w.seriesMs = seriesMsOf(policy);
  w.slots.share(preset.packs);
  if (timings.heartbeatMs === 0) {
    w.membership.heartbeatDueAt = Number.POSITIVE_INFINITY;
    w.env.clearTimer('heartbeat', 0);
  } else if (isFirst) {
    scheduleHeartbeat(w, nextBeat(now + timings.heartbeatMs / 2, timings.heartbeatMs));
  }
  // Earlier reports of this worker went to another central, so the new one needs the complete state.
  if (!isFirst && !isCutOff && before !== from) register(w, now);
  w.queue.patienceMs = patienceMsOf(policy);
  if (w.stealing !== undefined) w.stealing.settings = settings;
  else if (preset.stealing) w.stealing = new Stealing(w, settings);
  if (findsWork(preset)) w.finder ??= new WorkFinder(w);
  w.finder?.welcomed(before !== from);
}

/** Handles a broken connection to a party. */
export function disconnected(w: WorkerParts, from: Address, now: Millis): void {
  if (!w.membership.disconnected(from)) return;
  register(w, now);
  w.finder?.seek(now);
}

/** Registers again from scratch, because central does not know this worker or its lease has expired. */
export function registerAgain(w: WorkerParts, now: Millis): void {
  w.membership.forget();
  register(w, now, true);
}

/** Sends a heartbeat, or registers if the worker is in no cluster or its last registration was not answered. */
export function sendHeartbeat(w: WorkerParts, now: Millis): void {
  detectSuspension(w, now);
  // Without central there are no matches, so the worker asks schedulers for tasks.
  w.finder?.seek(now);
  const { central, isCutOff, awaitsWelcome } = w.membership;
  if (w.membership.isLeaseExpired(now)) return registerAgain(w, now);
  if (central === NOBODY || isCutOff || awaitsWelcome) return register(w, now, true);
  w.existingHealth?.report();
  const used = w.env.used?.();
  w.env.send(central, { type: 'heartbeat', busy: w.slots.busyCount, queued: w.queue.length, used });
  if (w.isDraining && w.isIdle) w.env.send(central, { type: 'drained' });
  scheduleBeat(w, now);
}

/** Handles central's acknowledgment of a heartbeat. */
export function acknowledged(
  w: WorkerParts,
  from: Address,
  { version, matching }: MessageOf<'heartbeatAck'>,
  now: Millis,
): void {
  const { membership } = w;
  if (from !== membership.central) return;
  membership.seen(now);
  if (version !== membership.version) w.env.send(from, { type: 'resync' });
  if (matching && w.finder?.isUnderreported(now)) register(w, now);
  if (membership.isShedding !== matching) return;
  membership.isShedding = !matching;
  w.finder?.freed(now);
}

/** Handles an update about schedulers and other workers. */
export function peersChanged(w: WorkerParts, from: Address, message: MessageOf<'peers'>, now: Millis): void {
  if (from !== w.membership.central) return;
  w.membership.seen(now);
  if (!w.membership.apply(message)) return w.env.send(from, { type: 'resync' });
  w.stealing?.setVictims(w.membership.general, now);
  for (const owner of message.ownersLost) ownerLost(w, owner, now);
  // Running tasks of disconnected owners continue, and their results are kept.
  for (const owner of message.ownersAway) dropWaiting(w, owner, now);
  if (message.ownersAway.length > 0) serveOrFind(w, now);
  w.finder?.seek(now);
}

/** Kills the tasks of a lost scheduler, and returns its waiting ones in case it is still alive. */
function ownerLost(w: WorkerParts, owner: Address, now: Millis): void {
  dropWaiting(w, owner, now);
  w.reports.dropOwner(owner);
  giveBackMembers(w, (each) => each === owner);
  orphanTasksOf(w, owner, now);
  serveOrFind(w, now);
  reportIfDrained(w);
}

/** Drops queued entries of an owner that cannot bind them. */
function dropWaiting(w: WorkerParts, owner: Address, now: Millis): void {
  giveBack(w, w.queue.removeOwner(owner));
  giveBackKept(w, (task) => task.owner === owner);
  w.finder?.ownerLost(owner, now);
  dropAsks(w, owner);
}

/** Handles a restarted owner's request for the tasks of its earlier incarnations. */
export function resumed(
  w: WorkerParts,
  owner: Address,
  { previousIncarnations, audit }: MessageOf<'resume'>,
  now: Millis,
): void {
  if (w.superseded === NONE_SUPERSEDED && previousIncarnations.length > 0) w.superseded = new Set();
  for (const former of previousIncarnations) {
    if (former === owner) continue;
    w.superseded.add(former);
    dropWaiting(w, former, now);
  }
  serveOrFind(w, now);
  rehome(w, owner, previousIncarnations, now);
  // A restarted owner does not know which gang members were ready.
  if (audit === 0 && giveBackMembers(w, (each) => each === owner)) serveOrFind(w, now);
  reportTasks(w, owner, audit, now);
}

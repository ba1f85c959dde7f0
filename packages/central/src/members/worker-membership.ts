import { type Address, formatDuration, type MessageOf, type Millis } from '@goshawk/core';
import {
  type BookedLoad,
  describeDrain,
  drainRequest,
  listWorkers,
  notReportedRefusal,
  unknownWorkerRefusal,
} from '../cluster/describing.js';
import { isActive, type WorkerRecord } from '../cluster/registry.js';
import type { LossCause } from '../contract.js';
import type { CentralState } from '../state.js';
import { refusesName, welcome } from './welcoming.js';

/** Maximum number of jobs that the event of a lost worker names. */
const JOBS_NAMED = 10;

// Handles joins, drains, quarantines, departures and losses of workers, and divides them into partitions.

/**
 * Returns a page of the workers.
 *
 * @param from `next` of the previous page; 0: the first page
 * @param loadAt returns the booked tasks of a worker, if known
 */
export function workerPage(
  s: CentralState,
  from: number,
  loadAt: (worker: Address) => BookedLoad | undefined,
  now: Millis,
): MessageOf<'workerPage'>['value'] {
  const nameOf = (address: Address): string => s.env.nameOf(address);
  const page = listWorkers(s.registry, from, nameOf, loadAt, now);
  return { ...page, lost: from === 0 ? s.lost.list(now) : undefined };
}

export function explainLoss(s: CentralState, worker: string, address: string, why: string): void {
  s.lost.explain(worker, address, why);
}

/** Number of recently lost workers that have not returned. */
export function lostCount(s: CentralState, now: Millis): number {
  return s.lost.list(now).length;
}

/** Names of recently lost workers that have not returned, the latest loss first. */
export function lostNames(s: CentralState, now: Millis): string[] {
  return s.lost.list(now).map(({ name }) => name);
}

export function checkPartitions(s: CentralState): void {
  s.partitions.checkInvariants([...s.registry.workers.values()]);
}

// ---- joining

/** Registers a worker. Returns false if another worker has its name. */
export function registerWorker(
  s: CentralState,
  from: Address,
  message: MessageOf<'register'>,
  now: Millis,
): boolean {
  const same = s.registry.workerByName(message.name);
  if (same !== undefined && same.address !== from) {
    if (refusesName(s, from, same)) return false;
    // A restarted worker has lost its tasks, so there is no need to wait for the lease.
    loseWorker(s, same, 'replaced', now);
  }
  let worker = s.registry.workers.get(from);
  if (worker === undefined) {
    s.counters.workersJoined++;
    worker = s.registry.admit(from, message, s.cutoff.settings.policy.preset.packs, now);
    workerChanged(s, worker, now);
    s.publisher.addNewcomer(from);
    s.lost.returned(worker.name);
    s.env.eventOccurred?.({
      kind: 'worker-joined',
      worker: worker.name,
      address: s.env.nameOf(from),
      slots: worker.slots,
    });
  }
  worker.lastSeenAt = now;
  if (worker.draining !== message.draining) {
    worker.draining = message.draining;
    if (!message.draining) worker.drained = false;
    workerChanged(s, worker, now);
  }
  return true;
}

/** Welcomes a registered worker, once its tasks are in the books. */
export function workerRegistered(s: CentralState, from: Address, now: Millis): void {
  const worker = s.registry.workers.get(from)!;
  if (s.partitions.isMislabelled(worker)) {
    worker.partition = 'general';
    workerChanged(s, worker, now);
  }
  welcome(s, from);
  s.publisher.publishSoon(now);
  relabel(s, now);
}

/** Records workers that were members under the previous central and have not registered yet. */
export function restoreWorkers(s: CentralState, names: readonly string[], now: Millis): void {
  for (const name of names) {
    if (s.registry.workerByName(name) !== undefined || s.lost.has(name)) continue;
    s.counters.workersLost++;
    s.env.eventOccurred?.({ kind: 'worker-missing', worker: name });
    s.lost.add({
      name,
      address: '',
      cause: 'it did not return after central restarted',
      running: 0,
      at: now,
    });
  }
}

// ---- reports

export function workerHeartbeat(
  s: CentralState,
  worker: WorkerRecord,
  { busy, queued, used }: MessageOf<'heartbeat'>,
  now: Millis,
): void {
  worker.lastSeenAt = now;
  worker.busy = busy;
  worker.queued = queued;
  worker.used = used;
  // A quarantined worker reports its quarantine before each heartbeat. An old report means that it has
  // ended.
  const { heartbeatMs } = s.cutoff.settings.timings;
  if ((worker.quarantine?.reportedAt ?? now) < now - heartbeatMs / 2)
    quarantineWorker(s, worker.address, '', now);
  // Central repeats the request, because it may have been lost. A stopping worker drains without a
  // request, and ignores a request to accept tasks again.
  const { drainRequested, draining, drainDeadline } = worker;
  if (drainRequested !== draining || (busy > 0 && drainDeadline !== undefined && drainDeadline <= now))
    s.env.send(worker.address, drainRequest(worker, now));
}

export function drainWorker(
  s: CentralState,
  from: Address,
  message: MessageOf<'drainWorker'>,
  now: Millis,
): void {
  const worker = s.registry.workerByName(message.worker);
  if (worker === undefined) return removeLost(s, from, message, now);
  if (worker.drainRequested !== message.on)
    s.env.eventOccurred?.({
      kind: 'worker-drains',
      worker: worker.name,
      on: message.on,
      by: s.env.clientKeyOf?.(from)?.name,
    });
  worker.drainRequested = message.on;
  if (!message.on) worker.drained = false;
  if (!message.on) worker.drainDeadline = undefined;
  else if (message.deadlineMs !== undefined) worker.drainDeadline = now + message.deadlineMs;
  s.env.send(worker.address, drainRequest(worker, now));
  workerChanged(s, worker, now);
  relabel(s, now);
  s.env.send(from, {
    type: 'drainState',
    request: message.request,
    value: describeDrain(worker, now),
  });
}

/** The drain of a lost worker says that its loss was intended. */
function removeLost(s: CentralState, from: Address, message: MessageOf<'drainWorker'>, now: Millis): void {
  const { worker, request } = message;
  const removed = message.on ? s.lost.remove(worker, now) : undefined;
  if (removed === undefined)
    return s.env.send(
      from,
      s.leases.haveAllReported(now)
        ? unknownWorkerRefusal(message)
        : notReportedRefusal(request, `worker ${worker}`),
    );
  if (removed === 'now')
    s.env.eventOccurred?.({ kind: 'worker-removed', worker, by: s.env.clientKeyOf?.(from)?.name });
  const value = { worker, state: 'removed', running: 0, deadlineMs: undefined } as const;
  s.env.send(from, { type: 'drainState', request, value });
}

export function workerDrained(s: CentralState, from: Address): void {
  const worker = s.registry.workers.get(from);
  if (worker === undefined) return;
  if (!worker.drained) s.env.eventOccurred?.({ kind: 'worker-drained', worker: worker.name });
  worker.drained = true;
  // These numbers would otherwise be outdated until the next heartbeat.
  worker.busy = 0;
  worker.queued = 0;
}

/** Records a worker's quarantine; an empty reason ends it. */
export function quarantineWorker(s: CentralState, from: Address, reason: string, now: Millis): void {
  const worker = s.registry.workers.get(from);
  if (worker === undefined) return;
  const wasActive = isActive(worker);
  const wasQuarantined = worker.quarantine !== undefined;
  if (wasQuarantined !== (reason !== ''))
    s.env.eventOccurred?.(
      reason === ''
        ? { kind: 'worker-cured', worker: worker.name }
        : { kind: 'worker-quarantined', worker: worker.name, reason },
    );
  worker.quarantine = reason === '' ? undefined : { reason, reportedAt: now };
  if (isActive(worker) === wasActive) return;
  workerChanged(s, worker, now);
  relabel(s, now);
}

// ---- partitions

export function recordWork(s: CentralState, { shortMs, longMs }: MessageOf<'usage'>, now: Millis): void {
  s.partitions.recordWork(shortMs, longMs, now);
  relabel(s, now);
}

/** Brings the partitions to their target sizes, as far as running tasks permit. */
export function relabel(s: CentralState, now: Millis): void {
  for (const worker of s.partitions.relabel()) workerChanged(s, worker, now);
}

/** Updates everything that depends on the state of a worker: its partition, the dispatcher, and the next update. */
function workerChanged(s: CentralState, worker: WorkerRecord, now: Millis): void {
  s.partitions.update(worker);
  s.dispatcher.setOpen(worker, s.partitions.isOpen(worker));
  s.publisher.changed(worker.address);
  s.publisher.publishSoon(now);
}

// ---- leaving

export function workerLeft(s: CentralState, worker: WorkerRecord, now: Millis): void {
  s.env.eventOccurred?.({
    kind: 'worker-left',
    worker: worker.name,
    address: s.env.nameOf(worker.address),
  });
  removeWorker(s, worker, now, now);
  relabel(s, now);
}

export function workerLeasesEnded(s: CentralState, workers: readonly WorkerRecord[], now: Millis): void {
  for (const worker of workers) loseWorker(s, worker, 'lease', now);
  if (workers.length > 0) relabel(s, now);
}

function loseWorker(s: CentralState, worker: WorkerRecord, cause: LossCause, now: Millis): void {
  s.counters.workersLost++;
  const { name } = worker;
  const address = s.env.nameOf(worker.address);
  const silentMs = now - worker.lastSeenAt;
  const affectedJobs = s.dispatcher.jobsAt(worker.address);
  const jobs = [...new Set(affectedJobs.map(({ name: job }) => job))].slice(0, JOBS_NAMED);
  const tasks = Math.max(worker.busy, affectedJobs.length);
  s.env.eventOccurred?.({
    kind: 'worker-lost',
    worker: name,
    address,
    cause,
    silentMs,
    jobs,
    tasks,
  });
  const why =
    cause === 'lease'
      ? `silent for ${formatDuration(silentMs)}, so its lease expired`
      : 'another process joined under its name';
  s.lost.add({ name, address, cause: why, running: tasks, at: now });
  // The broken connection shows when the process ended, more precisely than its last heartbeat.
  removeWorker(s, worker, Math.max(worker.lastSeenAt, worker.brokeAt ?? 0), now);
}

function removeWorker(s: CentralState, worker: WorkerRecord, lastSeenAt: Millis, now: Millis): void {
  s.registry.removeWorker(worker);
  s.partitions.remove(worker);
  s.dispatcher.removeWorker(worker.address, now);
  s.publisher.left(worker.address, lastSeenAt);
  s.publisher.publishSoon(now);
}

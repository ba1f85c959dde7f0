import { type Address, formatDuration, type MessageOf, type Millis } from '@goshawk/core';
import type { CentralCounters, CentralEnvironment, LossCause } from '../contract.js';
import {
  type BookedLoad,
  describeDrain,
  drainRequest,
  listWorkers,
  unknownWorkerRefusal,
} from './describing.js';
import type { LearnedCutoff } from './learned-cutoff.js';
import { LostWorkers } from './lost-workers.js';
import type { MembershipParts } from './membership-parts.js';
import type { NameConflicts } from './name-conflicts.js';
import { Partitions } from './partitions.js';
import type { Publisher } from './publisher.js';
import { isActive, type Registry, type WorkerRecord } from './registry.js';

/** The part of the dispatcher that the membership of workers uses. */
export interface WorkerDispatch {
  /** Called when a worker is new, or has started or stopped accepting work. */
  setOpen(worker: WorkerRecord, open: boolean): void;
  isBusy(worker: Address): boolean;
  removeWorker(worker: Address, now: Millis): void;
  /** Returns the job of each task at the worker. */
  jobsAt(worker: Address): readonly { readonly name: string }[];
}

/** Maximum number of jobs that the event of a lost worker names. */
const JOBS_NAMED = 10;

/** Handles joins, drains, quarantines, departures and losses of workers, and divides them into partitions. */
export class WorkerMembership {
  readonly #env: CentralEnvironment;
  readonly #counters: CentralCounters;
  readonly #registry: Registry;
  readonly #publisher: Publisher;
  readonly #names: NameConflicts;
  readonly #cutoff: LearnedCutoff;
  readonly #welcome: MembershipParts['welcome'];
  readonly #dispatch: WorkerDispatch;
  readonly #lost = new LostWorkers();
  readonly #partitions: Partitions;

  constructor(parts: MembershipParts, dispatch: WorkerDispatch) {
    this.#env = parts.env;
    this.#counters = parts.counters;
    this.#registry = parts.registry;
    this.#publisher = parts.publisher;
    this.#names = parts.names;
    this.#cutoff = parts.cutoff;
    this.#welcome = parts.welcome;
    this.#dispatch = dispatch;
    this.#partitions = new Partitions(parts.cutoff.settings.policy, (worker) => dispatch.isBusy(worker));
  }

  /**
   * Returns a page of the workers.
   *
   * @param from `next` of the previous page; 0: the first page
   * @param loadAt returns the booked tasks of a worker, if known
   */
  page(
    from: number,
    loadAt: (worker: Address) => BookedLoad | undefined,
    now: Millis,
  ): MessageOf<'workerPage'>['value'] {
    const nameOf = (address: Address): string => this.#env.nameOf(address);
    const page = listWorkers(this.#registry, from, nameOf, loadAt, now);
    return { ...page, lost: from === 0 ? this.#lost.list(now) : undefined };
  }

  explainLoss(worker: string, address: string, why: string): void {
    this.#lost.explain(worker, address, why);
  }

  /** Number of recently lost workers that have not returned. */
  lostCount(now: Millis): number {
    return this.#lost.list(now).length;
  }

  /** Names of recently lost workers that have not returned, the latest loss first. */
  lostNames(now: Millis): string[] {
    return this.#lost.list(now).map(({ name }) => name);
  }

  checkInvariants(): void {
    this.#partitions.checkInvariants([...this.#registry.workers.values()]);
  }

  // ---- joining

  /** Registers a worker. Returns false if another worker has its name. */
  register(from: Address, message: MessageOf<'register'>, now: Millis): boolean {
    const same = this.#registry.workerByName(message.name);
    if (same !== undefined && same.address !== from) {
      if (this.#names.refuses(from, same, now)) return false;
      // A restarted worker has lost its tasks, so there is no need to wait for the lease.
      this.#lose(same, 'replaced', now);
    }
    let worker = this.#registry.workers.get(from);
    if (worker === undefined) {
      this.#counters.workersJoined++;
      worker = this.#registry.admit(from, message, this.#cutoff.settings.policy.preset.packs, now);
      this.#changed(worker, now);
      this.#publisher.addNewcomer(from);
      this.#lost.returned(worker.name);
      this.#env.eventOccurred?.({
        kind: 'worker-joined',
        worker: worker.name,
        address: this.#env.nameOf(from),
        slots: worker.slots,
      });
    }
    worker.lastSeenAt = now;
    if (worker.draining !== message.draining) {
      worker.draining = message.draining;
      if (!message.draining) worker.drained = false;
      this.#changed(worker, now);
    }
    return true;
  }

  /** Welcomes a registered worker, once its tasks are in the books. */
  registered(from: Address, now: Millis): void {
    const worker = this.#registry.workers.get(from)!;
    if (this.#partitions.isMislabelled(worker)) {
      worker.partition = 'general';
      this.#changed(worker, now);
    }
    this.#welcome(from);
    this.#publisher.publishSoon(now);
    this.relabel(now);
  }

  /** Records workers that were members under the previous central and have not registered yet. */
  restore(names: readonly string[], now: Millis): void {
    for (const name of names) {
      if (this.#registry.workerByName(name) !== undefined || this.#lost.has(name)) continue;
      this.#counters.workersLost++;
      this.#env.eventOccurred?.({ kind: 'worker-missing', worker: name });
      this.#lost.add({
        name,
        address: '',
        cause: 'it did not return after central restarted',
        running: 0,
        at: now,
      });
    }
  }

  // ---- reports

  heartbeat(worker: WorkerRecord, { busy, queued, used }: MessageOf<'heartbeat'>, now: Millis): void {
    worker.lastSeenAt = now;
    worker.busy = busy;
    worker.queued = queued;
    worker.used = used;
    // A quarantined worker reports its quarantine before each heartbeat. An old report means that it has
    // ended.
    const { heartbeatMs } = this.#cutoff.settings.timings;
    if ((worker.quarantine?.reportedAt ?? now) < now - heartbeatMs / 2)
      this.quarantine(worker.address, '', now);
    // Central repeats the request, because it may have been lost. A stopping worker drains without a
    // request, and ignores a request to accept tasks again.
    const { drainRequested, draining, drainDeadline } = worker;
    if (drainRequested !== draining || (busy > 0 && drainDeadline !== undefined && drainDeadline <= now))
      this.#env.send(worker.address, drainRequest(worker, now));
  }

  drain(from: Address, message: MessageOf<'drainWorker'>, now: Millis): void {
    const worker = this.#registry.workerByName(message.worker);
    if (worker === undefined) return this.#env.send(from, unknownWorkerRefusal(message));
    if (worker.drainRequested !== message.on)
      this.#env.eventOccurred?.({
        kind: 'worker-drains',
        worker: worker.name,
        on: message.on,
        by: this.#env.clientKeyOf?.(from)?.name,
      });
    worker.drainRequested = message.on;
    if (!message.on) worker.drained = false;
    if (!message.on) worker.drainDeadline = undefined;
    else if (message.deadlineMs !== undefined) worker.drainDeadline = now + message.deadlineMs;
    this.#env.send(worker.address, drainRequest(worker, now));
    this.#changed(worker, now);
    this.relabel(now);
    this.#env.send(from, {
      type: 'drainState',
      request: message.request,
      value: describeDrain(worker, now),
    });
  }

  drained(from: Address): void {
    const worker = this.#registry.workers.get(from);
    if (worker === undefined) return;
    if (!worker.drained) this.#env.eventOccurred?.({ kind: 'worker-drained', worker: worker.name });
    worker.drained = true;
    // These numbers would otherwise be outdated until the next heartbeat.
    worker.busy = 0;
    worker.queued = 0;
  }

  /** Records a worker's quarantine; an empty reason ends it. */
  quarantine(from: Address, reason: string, now: Millis): void {
    const worker = this.#registry.workers.get(from);
    if (worker === undefined) return;
    const wasActive = isActive(worker);
    const wasQuarantined = worker.quarantine !== undefined;
    if (wasQuarantined !== (reason !== ''))
      this.#env.eventOccurred?.(
        reason === ''
          ? { kind: 'worker-cured', worker: worker.name }
          : { kind: 'worker-quarantined', worker: worker.name, reason },
      );
    worker.quarantine = reason === '' ? undefined : { reason, reportedAt: now };
    if (isActive(worker) === wasActive) return;
    this.#changed(worker, now);
    this.relabel(now);
  }

  // ---- partitions

  recordWork({ shortMs, longMs }: MessageOf<'usage'>, now: Millis): void {
    this.#partitions.recordWork(shortMs, longMs, now);
    this.relabel(now);
  }

  /** No task that central assigned runs or waits at the worker any more. */
  freed(address: Address): void {
    const worker = this.#registry.workers.get(address);
    if (worker !== undefined) this.#partitions.freed(worker);
  }

  /** Brings the partitions to their target sizes, as far as running tasks permit. */
  relabel(now: Millis): void {
    for (const worker of this.#partitions.relabel()) this.#changed(worker, now);
  }

  /** Updates everything that depends on the state of a worker: its partition, the dispatcher, and the next update. */
  #changed(worker: WorkerRecord, now: Millis): void {
    this.#partitions.update(worker);
    this.#dispatch.setOpen(worker, this.#partitions.isOpen(worker));
    this.#publisher.changed(worker.address);
    this.#publisher.publishSoon(now);
  }

  // ---- leaving

  left(worker: WorkerRecord, now: Millis): void {
    this.#env.eventOccurred?.({
      kind: 'worker-left',
      worker: worker.name,
      address: this.#env.nameOf(worker.address),
    });
    this.#remove(worker, now, now);
    this.relabel(now);
  }

  leasesEnded(workers: readonly WorkerRecord[], now: Millis): void {
    for (const worker of workers) this.#lose(worker, 'lease', now);
    if (workers.length > 0) this.relabel(now);
  }

  #lose(worker: WorkerRecord, cause: LossCause, now: Millis): void {
    this.#counters.workersLost++;
    const { name } = worker;
    const address = this.#env.nameOf(worker.address);
    const silentMs = now - worker.lastSeenAt;
    const affectedJobs = this.#dispatch.jobsAt(worker.address);
    const jobs = [...new Set(affectedJobs.map(({ name: job }) => job))].slice(0, JOBS_NAMED);
    const tasks = Math.max(worker.busy, affectedJobs.length);
    this.#env.eventOccurred?.({
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
    this.#lost.add({ name, address, cause: why, running: tasks, at: now });
    // The broken connection shows when the process ended, more precisely than its last heartbeat.
    this.#remove(worker, Math.max(worker.lastSeenAt, worker.brokeAt ?? 0), now);
  }

  #remove(worker: WorkerRecord, lastSeenAt: Millis, now: Millis): void {
    this.#registry.removeWorker(worker);
    this.#partitions.remove(worker);
    this.#dispatch.removeWorker(worker.address, now);
    this.#publisher.left(worker.address, lastSeenAt);
    this.#publisher.publishSoon(now);
  }
}

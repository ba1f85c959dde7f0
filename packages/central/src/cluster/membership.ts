import {
  type Address,
  formatDuration,
  type MessageOf,
  type Millis,
  type Schedulers,
  sumOf,
} from '@goshawk/core';
import type { CentralCounters, CentralEnvironment, LossCause } from '../contract.js';
import {
  type BookedLoad,
  describeDrain,
  drainRequest,
  listSchedulers,
  listWorkers,
  takeoverRefusal,
  unknownWorkerRefusal,
} from './describing.js';
import { ExpectedSchedulers, type RememberedScheduler } from './expected-schedulers.js';
import type { LearnedCutoff } from './learned-cutoff.js';
import { Leases } from './leases.js';
import { LostWorkers } from './lost-workers.js';
import { NameConflicts } from './name-conflicts.js';
import { Partitions } from './partitions.js';
import { Publisher } from './publisher.js';
import { isActive, Registry, type WorkerRecord } from './registry.js';
import type { SchedulerRecord } from './schedulers.js';
import { Takeovers } from './takeovers.js';

/** The part of the dispatcher that membership uses. */
interface DispatcherPort {
  /** Called when a worker is new, or has started or stopped accepting work. */
  setOpen(worker: WorkerRecord, open: boolean): void;
  isBusy(worker: Address): boolean;
  removeWorker(worker: Address, now: Millis): void;
  withdrawAll(owner: Address, now: Millis): void;
  removeOwner(owner: Address, now: Millis): void;
  /** Called whenever the scheduler with this tag enlists; its address may have changed. */
  rehome(tag: string, address: Address, formers: readonly Address[], now: Millis): void;
  /** Returns the job of each task at the worker. */
  jobsAt(worker: Address): readonly { readonly name: string }[];
  /** Called when no scheduler will continue the jobs of the owner. */
  forgetOwner(owner: Address): void;
  /** Returns the next of the owner's jobs that wait; undefined if there are none. */
  listWaiting(owner: Address): MessageOf<'heartbeatAck'>['waiting'];
}

/** Maximum number of jobs that the event of a lost worker names. */
const JOBS_NAMED = 10;
/** The scheduler name in a takeover request that stands for all schedulers. */
const ALL = '*';

/** Handles joins, heartbeats, departures and losses, and notifies the other parties. */
export class Membership {
  readonly registry = new Registry();
  readonly expected: ExpectedSchedulers;
  readonly #lost = new LostWorkers();
  readonly #cutoff: LearnedCutoff;
  readonly #env: CentralEnvironment;
  readonly #counters: CentralCounters;
  readonly #dispatcher: DispatcherPort;
  readonly #publisher: Publisher;
  readonly #leases: Leases;
  readonly #names: NameConflicts;
  readonly #partitions: Partitions;
  readonly #takeovers: Takeovers;
  /** Reported journals that were restored from an older copy: tag, present address and missing address. */
  readonly #rolledBack = new Set<string>();
  /** Names of the missing schedulers in the last report, to report only changes. */
  #missing = '';

  /**
   * @param cutoff settings for all parties, with the current cutoff
   * @param expected names of schedulers that should be present
   */
  constructor(
    env: CentralEnvironment,
    counters: CentralCounters,
    dispatcher: DispatcherPort,
    cutoff: LearnedCutoff,
    expected: readonly string[] = [],
  ) {
    this.#cutoff = cutoff;
    this.#env = env;
    this.#counters = counters;
    this.#dispatcher = dispatcher;
    const { policy, timings } = cutoff.settings;
    this.#publisher = new Publisher(env, this.registry, cutoff.settings, () => this.#remembered());
    this.#leases = new Leases(this.registry, timings);
    this.#names = new NameConflicts(env, this.#leases, timings.heartbeatMs);
    const { schedulers } = this.registry;
    this.expected = new ExpectedSchedulers(schedulers, expected, timings.leaseMs);
    this.#takeovers = new Takeovers(env, schedulers, this.expected, this.#leases, timings.leaseMs);
    this.#partitions = new Partitions(policy, (worker) => dispatcher.isBusy(worker));
  }

  start(now: Millis): void {
    this.#leases.start(now);
    this.expected.start(now);
    this.#armLease(now);
  }

  publish(now: Millis): void {
    this.#publisher.publish(now);
  }

  /** Returns the name of a worker; undefined if the scheduler already knows it. */
  nameIfUnknown(scheduler: Address, worker: Address): string | undefined {
    if (!this.#publisher.isOutdated(scheduler, worker)) return undefined;
    return this.registry.workers.get(worker)?.name;
  }

  has(party: Address): boolean {
    return this.registry.workers.has(party) || this.registry.schedulers.members.has(party);
  }

  /** Returns whether all parties have had time to register since central's start. */
  haveAllReported(now: Millis): boolean {
    return this.#leases.haveAllReported(now);
  }

  /**
   * Returns the schedulers for clients. It omits a scheduler until the others have received its name.
   * Otherwise two schedulers might accept jobs with the same idempotency key.
   */
  schedulers(now: Millis): Schedulers {
    const nameOf = (address: Address): string => this.#env.nameOf(address);
    const isListed = (address: Address): boolean => this.#publisher.hasNotified(address);
    const lists = listSchedulers(this.registry.schedulers, isListed, nameOf, now);
    return {
      ...lists,
      complete: this.haveAllReported(now),
      warnings: this.#env.warnings?.() ?? [],
      missing: this.expected.missing(now),
    };
  }

  /** Returns the current owner of the jobs with this tag. */
  ownerOf(tag: string, now: Millis): Omit<MessageOf<'ownerIs'>, 'type'> {
    const { schedulers } = this.registry;
    const gone = schedulers.byTag(tag) === undefined && this.haveAllReported(now);
    return { tag, owner: schedulers.memberByTag(tag)?.address, gone };
  }

  /**
   * Returns a page of the workers.
   *
   * @param from `next` of the previous page; 0: the first page
   * @param loadAt returns the booked tasks of a worker, if known
   */
  workers(
    from: number,
    loadAt: (worker: Address) => BookedLoad | undefined,
    now: Millis,
  ): MessageOf<'workerPage'>['value'] {
    const page = listWorkers(this.registry, from, (address) => this.#env.nameOf(address), loadAt, now);
    return { ...page, lost: from === 0 ? this.#lost.list(now) : undefined };
  }

  explainLoss(worker: string, address: string, why: string): void {
    this.#lost.explain(worker, address, why);
  }

  /** Number of recently lost workers that have not returned. */
  lostWorkers(now: Millis): number {
    return this.#lost.list(now).length;
  }

  /** Returns the address of the scheduler with this full name. */
  schedulerAt(fullName: string): Address | undefined {
    for (const address of this.registry.schedulers.members.keys())
      if (this.#env.nameOf(address) === fullName) return address;
    return undefined;
  }

  checkInvariants(): void {
    this.#partitions.checkInvariants([...this.registry.workers.values()]);
  }

  // ---- joining

  /** Registers a worker. Returns false if another worker has its name. */
  register(from: Address, message: MessageOf<'register'>, now: Millis): boolean {
    const same = this.registry.workerByName(message.name);
    if (same !== undefined && same.address !== from) {
      if (this.#names.refuses(from, same, now)) return false;
      // A restarted worker has lost its tasks, so there is no need to wait for the lease.
      this.#workerLost(same, 'replaced', now);
    }
    let worker = this.registry.workers.get(from);
    if (worker === undefined) {
      this.#counters.workersJoined++;
      worker = this.registry.admit(from, message, this.#cutoff.settings.policy.preset.packs, now);
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
    const worker = this.registry.workers.get(from)!;
    if (this.#partitions.isMislabelled(worker)) {
      worker.partition = 'general';
      this.#changed(worker, now);
    }
    this.welcome(from);
    this.#publisher.publishSoon(now);
    this.relabel(now);
  }

  enlist(from: Address, message: MessageOf<'enlist'>, now: Millis): void {
    if (this.#takeovers.refuses(from, message)) return;
    const { name, tag, epoch, durable, draining } = message;
    const { schedulers } = this.registry;
    const holder = this.#other(schedulers.memberByTag(tag), from);
    // A higher epoch proves a takeover of the shared journal. Equal epochs mean two copies of one journal.
    if (holder !== undefined && epoch <= holder.epoch && this.#names.refuses(from, holder, now, tag)) return;
    const namesake = this.#other(schedulers.memberByName(name), from);
    const isTaken = namesake !== undefined && namesake !== holder;
    if (isTaken && this.#names.refuses(from, namesake, now)) return;
    this.#checkJournalRollback(from, message);
    const previousOwner = schedulers.byTag(tag);
    if (holder !== undefined) this.#schedulerLost(holder, 'replaced', now);
    if (isTaken) this.#schedulerLost(namesake, 'replaced', now);
    for (const { address } of schedulers.removeReplaced(tag, name)) this.#ownerLost(address);
    const known = schedulers.members.get(from);
    if (known?.durable !== durable || known.draining !== draining) this.#publisher.ownersChanged();
    if (known === undefined) {
      this.#publisher.ownerJoined(from);
      if (epoch === 0 && schedulers.byTag(tag) === undefined) this.#publisher.hideUntilNotified(from);
    }
    // A returning scheduler sends its needs again. The old ones are withdrawn, because their jobs may have ended.
    // A scheduler that only reports a change of `draining` or `durable` does not send them again.
    const isReturn = known !== undefined && known.draining === draining && known.durable === durable;
    if (isReturn) this.#dispatcher.withdrawAll(from, now);
    schedulers.rehome(from, message, now);
    this.#reportScheduler(from, message, known, previousOwner);
    this.#dispatcher.rehome(tag, from, message.previousIncarnations, now);
    this.welcome(from);
    this.#publisher.addNewcomer(from);
    this.#publisher.publishSoon(now);
  }

  #reportScheduler(
    from: Address,
    { name, tag, epoch, adopted, durable }: MessageOf<'enlist'>,
    known: SchedulerRecord | undefined,
    previousOwner: SchedulerRecord | undefined,
  ): void {
    if (durable) this.expected.schedulerJoined(tag, name);
    else if (known?.durable) this.expected.retire(tag);
    if (known !== undefined) return;
    const address = this.#env.nameOf(from);
    this.#env.eventOccurred?.({ kind: 'scheduler-joined', scheduler: name, tag, epoch, address, adopted });
    if (adopted && previousOwner?.adopted !== true)
      this.#env.eventOccurred?.({ kind: 'takeover-completed', scheduler: name, tag, epoch });
  }

  #other(scheduler: SchedulerRecord | undefined, from: Address): SchedulerRecord | undefined {
    return scheduler?.address === from ? undefined : scheduler;
  }

  /**
   * Reports a scheduler whose journal lacks its last known incarnation. This shows that an older copy of the
   * journal was restored.
   */
  #checkJournalRollback(from: Address, { name, tag, previousIncarnations }: MessageOf<'enlist'>): void {
    const known = this.registry.schedulers.byTag(tag);
    const last = known?.address ?? this.expected.lastAddressOf(tag);
    if (last === undefined || last === from || previousIncarnations.includes(last)) return;
    this.#env.journalRolledBack?.(name);
  }

  /** Returns the schedulers with local journals. Other schedulers store these names for the next central. */
  #remembered(): RememberedScheduler[] {
    const known = this.registry.schedulers.all
      .filter(({ durable, epoch, adopted }) => durable && epoch === 0 && !adopted)
      .map(({ name, tag, address }) => ({ name, tag, address }));
    const tags = new Set(known.map(({ tag }) => tag));
    const missed = Array.from(this.expected.missingLocal, ({ name, tag, address }) => ({
      name,
      tag,
      address,
    }));
    return [...known, ...missed.filter(({ tag }) => !tags.has(tag))];
  }

  /** Records parties that were members under the previous central, as a scheduler reports. */
  restoreMembers(from: Address, { schedulers, workers }: MessageOf<'remember'>, now: Millis): void {
    if (!this.registry.schedulers.members.has(from)) return;
    for (const scheduler of schedulers) {
      const present = this.registry.schedulers.memberByTag(scheduler.tag);
      if (present === undefined) this.expected.addMissing(scheduler);
      else if (this.#isRolledBack(present, scheduler.address)) this.#env.journalRolledBack?.(present.name);
    }
    for (const name of workers) {
      if (this.registry.workerByName(name) !== undefined || this.#lost.has(name)) continue;
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

  /** Returns whether the scheduler's journal lacks this incarnation. True only once for each. */
  #isRolledBack({ tag, address, previousIncarnations }: SchedulerRecord, last: Address): boolean {
    if (last === address || previousIncarnations.includes(last)) return false;
    const found = `${tag} ${address} ${last}`;
    if (this.#rolledBack.has(found)) return false;
    this.#rolledBack.add(found);
    return true;
  }

  welcome(party: Address): void {
    this.#env.send(party, { type: 'welcome', settings: this.#cutoff.settings });
  }

  /** Sends the changed settings to all parties. */
  welcomeAll(): void {
    for (const worker of this.registry.workers.keys()) this.welcome(worker);
    for (const scheduler of this.registry.schedulers.members.keys()) this.welcome(scheduler);
  }

  /** Sends the complete lists to a party that has missed an update. */
  resync(from: Address, now: Millis): void {
    this.#publisher.addNewcomer(from);
    this.#publisher.publishSoon(now);
  }

  // ---- heartbeats

  /** Records that a connection broke. Another party may then take the name or journal before the lease ends. */
  disconnected(from: Address, now: Millis): void {
    const party = this.registry.workers.get(from) ?? this.registry.schedulers.members.get(from);
    if (party !== undefined) party.brokeAt = now;
  }

  /**
   * Records a heartbeat of a member.
   *
   * @returns the record of the worker; undefined if the sender is not a worker
   */
  heartbeat(
    from: Address,
    { busy, queued, used }: MessageOf<'heartbeat'>,
    now: Millis,
  ): WorkerRecord | undefined {
    const worker = this.registry.workers.get(from);
    const scheduler = this.registry.schedulers.members.get(from);
    if (worker !== undefined) {
      worker.lastSeenAt = now;
      worker.busy = busy;
      worker.queued = queued;
      worker.used = used;
      // A quarantined worker reports its quarantine before each heartbeat. An old report means that it has
      // ended.
      const { heartbeatMs } = this.#cutoff.settings.timings;
      if ((worker.quarantine?.reportedAt ?? now) < now - heartbeatMs / 2) this.quarantine(from, '', now);
      // Central repeats the request, because it may have been lost. A stopping worker drains without a
      // request, and ignores a request to accept tasks again.
      const { drainRequested, draining, drainDeadline } = worker;
      if (drainRequested !== draining || (busy > 0 && drainDeadline !== undefined && drainDeadline <= now))
        this.#env.send(from, drainRequest(worker, now));
    } else if (scheduler !== undefined) {
      scheduler.lastSeenAt = now;
      scheduler.jobs = busy;
      scheduler.waiting = queued;
    }
    return worker;
  }

  acknowledge(party: Address, matching: boolean): void {
    // This party receives the next update in any case.
    if (this.#publisher.isUpdateDue(party)) return;
    const { ownersVersion } = this.#publisher;
    const version = this.#publisher.versionFor(party);
    const waiting = this.#dispatcher.listWaiting(party);
    this.#env.send(party, { type: 'heartbeatAck', version, ownersVersion, matching, waiting });
  }

  drain(from: Address, message: MessageOf<'drainWorker'>, now: Millis): void {
    const worker = this.registry.workerByName(message.worker);
    if (worker === undefined) return this.#env.send(from, unknownWorkerRefusal(message));
    if (worker.drainRequested !== message.on)
      this.#env.eventOccurred?.({ kind: 'worker-drains', worker: worker.name, on: message.on });
    worker.drainRequested = message.on;
    if (!message.on) worker.drained = false;
    if (!message.on) worker.drainDeadline = undefined;
    else if (message.deadlineMs !== undefined) worker.drainDeadline = now + message.deadlineMs;
    this.#env.send(worker.address, drainRequest(worker, now));
    this.#changed(worker, now);
    this.relabel(now);
    this.#env.send(from, { type: 'drainState', request: message.request, value: describeDrain(worker, now) });
  }

  /** Handles an operator's request that another scheduler take over the jobs of the named one. */
  takeOver(from: Address, { request, scheduler: name }: MessageOf<'takeOverFrom'>, now: Millis): void {
    const { schedulers } = this.registry;
    const unowned = this.expected.unowned(now);
    if (name === ALL) {
      const away = schedulers.away.filter(({ epoch }) => epoch > 0);
      return this.#reassign(from, request, name, away, unowned, now);
    }
    const gone = schedulers.byName(name);
    const journals = unowned.filter((journal) => journal.name === name);
    if (gone === undefined && journals.length > 0)
      return this.#reassign(from, request, name, [], journals, now);
    if (gone === undefined || gone.epoch === 0) {
      const isMissing = this.expected.missing(now).some((missing) => missing.name === name);
      return this.#env.send(from, takeoverRefusal(request, name, gone !== undefined || isMissing));
    }
    if (gone.awaySince === undefined) this.#schedulerLost(gone, 'takeover', now);
    this.#reassign(from, request, name, [gone], [], now);
  }

  /** Assigns the jobs of these schedulers, and journals of unknown schedulers, to other schedulers. */
  #reassign(
    from: Address,
    request: number,
    scheduler: string,
    gone: readonly SchedulerRecord[],
    unowned: readonly { readonly tag: string }[],
    now: Millis,
  ): void {
    for (const { tag } of [...gone, ...unowned]) this.#takeovers.force(tag);
    this.#takeovers.requestDue(now);
    const value = {
      scheduler,
      jobs: sumOf(gone, ({ jobs }) => jobs),
      schedulers: gone.length + unowned.length,
      jobsUnknown: unowned.length > 0 || undefined,
    };
    this.#env.send(from, { type: 'takeover', request, value });
  }

  /** Records the journals that a scheduler sees in the shared database. */
  updateJournals(from: Address, { journals }: MessageOf<'journals'>, now: Millis): void {
    if (this.registry.schedulers.members.has(from)) this.expected.updateJournals(journals, now);
  }

  drained(from: Address): void {
    const worker = this.registry.workers.get(from);
    if (worker === undefined) return;
    if (!worker.drained) this.#env.eventOccurred?.({ kind: 'worker-drained', worker: worker.name });
    worker.drained = true;
    // These numbers would otherwise be outdated until the next heartbeat.
    worker.busy = 0;
    worker.queued = 0;
  }

  /** Records a worker's quarantine; an empty reason ends it. */
  quarantine(from: Address, reason: string, now: Millis): void {
    const worker = this.registry.workers.get(from);
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
    const worker = this.registry.workers.get(address);
    if (worker !== undefined) this.#partitions.freed(worker);
  }

  /** Brings the partitions to their target sizes, as far as running tasks permit. */
  relabel(now: Millis): void {
    for (const worker of this.#partitions.relabel()) this.#changed(worker, now);
  }

  /** Updates everything that depends on the state of a worker: its partition, the dispatcher, and the next update. */
  #changed(worker: WorkerRecord, now: Millis): void {
    this.#partitions.update(worker);
    this.#dispatcher.setOpen(worker, this.#partitions.isOpen(worker));
    this.#publisher.changed(worker.address);
    this.#publisher.publishSoon(now);
  }

  // ---- leaving

  left(from: Address, now: Millis): void {
    const worker = this.registry.workers.get(from);
    if (worker !== undefined) {
      this.#env.eventOccurred?.({
        kind: 'worker-left',
        worker: worker.name,
        address: this.#env.nameOf(from),
      });
      this.#removeWorker(worker, now, now);
      this.relabel(now);
    }
    const scheduler = this.registry.schedulers.members.get(from);
    if (scheduler === undefined) return;
    const { name, tag, jobs } = scheduler;
    this.#env.eventOccurred?.({ kind: 'scheduler-left', scheduler: name, tag, jobs });
    this.#removeScheduler(scheduler, now);
  }

  endLeases(now: Millis): void {
    const { workers, schedulers, givenUp } = this.#leases.ended(now);
    for (const worker of workers) this.#workerLost(worker, 'lease', now);
    if (workers.length > 0) this.relabel(now);
    for (const scheduler of schedulers) this.#schedulerLost(scheduler, 'lease', now);
    this.#takeovers.requestDue(now);
    this.#reportMissing(now);
    for (const scheduler of givenUp) {
      const { address, name, tag, jobs } = scheduler;
      this.expected.addGivenUp(scheduler);
      this.#env.eventOccurred?.({ kind: 'scheduler-given-up', scheduler: name, tag, jobs });
      this.#ownerLost(address);
      this.#publisher.ownersChanged();
      this.#publisher.publishSoon(now);
    }
    this.#armLease(now);
  }

  #armLease(now: Millis): void {
    const at = this.#leases.nextCheck(now);
    if (at !== undefined) this.#env.setTimer('lease', 0, at);
  }

  /** Reports the missing schedulers if they differ from the last report. */
  #reportMissing(now: Millis): void {
    const missing = this.expected.missing(now).map(({ name }) => name);
    const text = missing.join();
    if (text === this.#missing) return;
    this.#missing = text;
    this.#env.eventOccurred?.({ kind: 'schedulers-missing', schedulers: missing });
  }

  #workerLost(worker: WorkerRecord, cause: LossCause, now: Millis): void {
    this.#counters.workersLost++;
    const { name } = worker;
    const address = this.#env.nameOf(worker.address);
    const silentMs = now - worker.lastSeenAt;
    const affectedJobs = this.#dispatcher.jobsAt(worker.address);
    const jobs = [...new Set(affectedJobs.map(({ name: job }) => job))].slice(0, JOBS_NAMED);
    const tasks = Math.max(worker.busy, affectedJobs.length);
    this.#env.eventOccurred?.({ kind: 'worker-lost', worker: name, address, cause, silentMs, jobs, tasks });
    const why =
      cause === 'lease'
        ? `silent for ${formatDuration(silentMs)}, so its lease expired`
        : 'another process joined under its name';
    this.#lost.add({ name, address, cause: why, running: tasks, at: now });
    // The broken connection shows when the process ended, more precisely than its last heartbeat.
    this.#removeWorker(worker, Math.max(worker.lastSeenAt, worker.brokeAt ?? 0), now);
  }

  #removeWorker(worker: WorkerRecord, lastSeenAt: Millis, now: Millis): void {
    this.registry.removeWorker(worker);
    this.#partitions.remove(worker);
    this.#dispatcher.removeWorker(worker.address, now);
    this.#publisher.left(worker.address, lastSeenAt);
    this.#publisher.publishSoon(now);
  }

  #schedulerLost(lost: SchedulerRecord, cause: LossCause, now: Millis): void {
    const { name: scheduler, tag, jobs } = lost;
    const address = this.#env.nameOf(lost.address);
    const silentMs = now - lost.lastSeenAt;
    this.#counters.schedulersLost++;
    this.#env.eventOccurred?.({ kind: 'scheduler-lost', scheduler, tag, address, cause, silentMs, jobs });
    this.#removeScheduler(lost, now);
  }

  #removeScheduler(scheduler: SchedulerRecord, now: Millis): void {
    const { address, durable } = scheduler;
    this.registry.schedulers.leave(scheduler, now);
    this.#publisher.ownersChanged();
    this.#dispatcher.removeOwner(address, now);
    if (durable) this.#publisher.ownerAway(address);
    else this.#ownerLost(address);
    this.#publisher.publishSoon(now);
  }

  /** Releases the name, keys and jobs of a lost owner. */
  #ownerLost(address: Address): void {
    this.#publisher.ownerLost(address);
    this.#dispatcher.forgetOwner(address);
  }
}

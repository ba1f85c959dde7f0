import type { Address, MessageOf, Millis } from '@goshawk/core';
import type { CentralCounters, CentralEnvironment } from '../contract.js';
import type { LearnedCutoff } from './learned-cutoff.js';
import { Leases } from './leases.js';
import type { MembershipParts } from './membership-parts.js';
import { NameConflicts } from './name-conflicts.js';
import { Publisher } from './publisher.js';
import { Registry, type WorkerRecord } from './registry.js';
import { type OwnerDispatch, SchedulerMembership } from './scheduler-membership.js';
import { type WorkerDispatch, WorkerMembership } from './worker-membership.js';

/** The part of the dispatcher that membership uses. */
interface DispatcherPort extends WorkerDispatch, OwnerDispatch {
  /** Returns the next of the owner's jobs that wait; undefined if there are none. */
  listWaiting(owner: Address): MessageOf<'heartbeatAck'>['waiting'];
}

/** Keeps track of the parties of the cluster: their heartbeats and leases, and what each knows about the others. */
export class Membership {
  readonly registry = new Registry();
  readonly workers: WorkerMembership;
  readonly schedulers: SchedulerMembership;
  readonly #env: CentralEnvironment;
  readonly #dispatcher: DispatcherPort;
  readonly #cutoff: LearnedCutoff;
  readonly #publisher: Publisher;
  readonly #leases: Leases;

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
    this.#env = env;
    this.#dispatcher = dispatcher;
    this.#cutoff = cutoff;
    const { registry } = this;
    const { timings } = cutoff.settings;
    this.#publisher = new Publisher(env, registry, cutoff.settings, () => this.schedulers.remembered());
    this.#leases = new Leases(registry, timings);
    const parts: MembershipParts = {
      env,
      counters,
      registry,
      publisher: this.#publisher,
      leases: this.#leases,
      names: new NameConflicts(env, this.#leases, timings.heartbeatMs),
      cutoff,
      welcome: (party) => this.welcome(party),
    };
    this.workers = new WorkerMembership(parts, dispatcher);
    this.schedulers = new SchedulerMembership(parts, dispatcher, expected);
  }

  start(now: Millis): void {
    this.#leases.start(now);
    this.schedulers.expected.start(now);
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

  checkInvariants(): void {
    this.workers.checkInvariants();
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

  /** Records parties that were members under the previous central, as a scheduler reports. */
  restoreMembers(from: Address, { schedulers, workers }: MessageOf<'remember'>, now: Millis): void {
    if (!this.registry.schedulers.members.has(from)) return;
    this.schedulers.restore(schedulers);
    this.workers.restore(workers, now);
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
  heartbeat(from: Address, message: MessageOf<'heartbeat'>, now: Millis): WorkerRecord | undefined {
    const worker = this.registry.workers.get(from);
    const scheduler = this.registry.schedulers.members.get(from);
    if (worker !== undefined) this.workers.heartbeat(worker, message, now);
    else if (scheduler !== undefined) {
      scheduler.lastSeenAt = now;
      scheduler.jobs = message.busy;
      scheduler.waiting = message.queued;
    }
    return worker;
  }

  acknowledge(party: Address, matching: boolean): void {
    // This party receives the next update in any case.
    if (this.#publisher.isUpdateDue(party)) return;
    const { ownersVersion } = this.#publisher;
    const version = this.#publisher.versionFor(party);
    const isScheduler = this.registry.schedulers.members.has(party);
    const waiting = isScheduler ? this.#dispatcher.listWaiting(party) : undefined;
    this.#env.send(party, { type: 'heartbeatAck', version, ownersVersion, matching, waiting });
  }

  // ---- leaving

  left(from: Address, now: Millis): void {
    const worker = this.registry.workers.get(from);
    if (worker !== undefined) this.workers.left(worker, now);
    const scheduler = this.registry.schedulers.members.get(from);
    if (scheduler !== undefined) this.schedulers.left(scheduler, now);
  }

  /** Whether all live parties have registered since central's start. */
  haveAllReported(now: Millis): boolean {
    return this.#leases.haveAllReported(now);
  }

  endLeases(now: Millis): void {
    const { workers, schedulers, givenUp } = this.#leases.ended(now);
    this.workers.leasesEnded(workers, now);
    this.schedulers.leasesEnded(schedulers, givenUp, now);
    this.#armLease(now);
  }

  #armLease(now: Millis): void {
    const at = this.#leases.nextCheck(now);
    if (at !== undefined) this.#env.setTimer('lease', 0, at);
  }
}

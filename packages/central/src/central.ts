import {
  type Address,
  effectiveScope,
  type Machine,
  type Message,
  type MessageOf,
  type Millis,
  type PolicySettings,
  type Preset,
  pulls,
  type Scope,
} from '@goshawk/core';
import { type CentralPolicy, makePolicy, type SolverAnswer } from '@goshawk/policies';
import { AwayOwners } from './away-owners.js';
import type {
  CentralConfig,
  CentralCounters,
  CentralEnvironment,
  CentralStanding,
  CentralTimer,
  Door,
} from './contract.js';
import {
  countWorkers,
  describeDrain,
  describeParties,
  doorsOf,
  noSuchWorker,
  noTakeover,
} from './describing.js';
import { Dispatcher } from './dispatch/dispatcher.js';
import { lineOfQueues } from './dispatch/line.js';
import { OccupiedNews } from './dispatch/occupied-news.js';
import { LOOK_MS, Relief } from './dispatch/relief.js';
import { checkMembership } from './invariants.js';
import { Leases } from './leases.js';
import { Names } from './names.js';
import { type Labelled, relabel, shortWanted } from './partition.js';
import { Placements } from './placements.js';
import { Publisher } from './publisher.js';
import { isActive, Registry, type WorkerRecord } from './registry.js';
import { Rivals } from './rivals.js';
import { Split } from './split.js';
import { Takeovers } from './takeovers.js';
import { heldBy, WaitingTimeQueue } from './waiting-time-queue.js';
import { WorkShare } from './work-share.js';

/** The Google trace's (Hawk §4.1), until `auto` has seen work of its own. */
const SHARE_BEFORE_ANY_WORK = 0.17;

/**
 * The central scheduler: keeps the membership, splits the cluster into its partitions, and places the tasks
 * of long jobs. It owns no job, and all that it knows can be told to it again.
 */
export class Central implements Machine<CentralTimer> {
  readonly counters: CentralCounters = {
    tasksPlaced: 0,
    workersJoined: 0,
    workersLost: 0,
    schedulersLost: 0,
  };

  readonly #config: CentralConfig;
  readonly #env: CentralEnvironment;
  readonly #registry = new Registry();
  readonly #away = new AwayOwners();
  readonly #publisher: Publisher;
  readonly #queue = new WaitingTimeQueue();
  readonly #placements: Placements;
  readonly #share = new WorkShare();
  readonly #dispatcher: Dispatcher;
  readonly #occupied: OccupiedNews;
  readonly #relief = new Relief();
  readonly #rivals: Rivals;
  readonly #leases: Leases;
  readonly #names: Names;
  readonly #takeovers: Takeovers;
  /** Of the workers that take work: those that drain are in no partition's size. */
  readonly #split = new Split();
  /** Tasks are placed here, or were: under most policies the queue need not know of thousands of workers. */
  #isPlacing: boolean;

  constructor(config: CentralConfig, env: CentralEnvironment) {
    this.#config = config;
    this.#env = env;
    const { policy, timings } = config.settings;
    this.#placements = new Placements(env, this.#queue, this.counters);
    this.#publisher = new Publisher(env, this.#registry, this.#away, config.settings);
    const { long, short } = policy.preset;
    this.#isPlacing = long.by === 'central' || short.by === 'central';
    this.#dispatcher = new Dispatcher(env, policyOf(policy, env), 2 * timings.retryMs, (tasks) =>
      this.#relief.came(tasks),
    );
    this.#rivals = new Rivals(env, this.#registry, config);
    this.#leases = new Leases(this.#registry, this.#away, timings);
    this.#names = new Names(env, this.#leases, timings.heartbeatMs);
    this.#takeovers = new Takeovers(env, this.#registry, this.#away, this.#leases, timings.leaseMs);
    this.#occupied = new OccupiedNews(env, this.#registry, this.#dispatcher, config.settings);
  }

  // ---- doors

  start(now: Millis): void {
    this.#rivals.start(now);
    this.#leases.start(now);
    this.#armLease(now);
    this.#lookAtLoad(now);
  }

  receive(from: Address, message: Message, now: Millis): void {
    switch (message.type) {
      case 'pull':
        this.#dispatcher.pulled(from, message, now);
        return this.#occupied.tellSoon(now);
      case 'need':
        if (this.#isStranger(from)) return;
        this.#dispatcher.needed(from, message, now);
        return this.#occupied.tellSoon(now);
      case 'unused':
        return this.#dispatcher.unused(message, now);
      case 'heartbeat':
        return this.#heartbeat(from, message, now);
      case 'placementStarted':
        return this.#placements.started(from, message, now);
      case 'placementEnded':
        return this.#placementEnded(from, message, now);
      case 'place':
        if (this.#isStranger(from)) return;
        this.#startPlacing(now);
        return this.#placements.place(from, message, now);
      case 'withdraw':
        this.#dispatcher.withdraw(from, message.job, now);
        return this.#placements.withdraw(from, message.job);
      case 'declare':
        if (this.#isStranger(from)) return;
        return this.#dispatcher.declared(from, message, now);
      case 'register':
        return this.#register(from, message, now);
      case 'enlist':
        return this.#enlist(from, message, now);
      case 'leave':
        return this.#partyLeft(from, now);
      case 'drained':
        return this.#drained(from);
      case 'aside':
        return this.#aside(from, message.reason, now);
      case 'usage':
        this.#share.add(message.shortMs, message.longMs, now);
        this.#shortCame(message.cameMs);
        this.#relief.came(message.cameTasks);
        return this.#relabel(now);
      case 'resync':
        return this.#resync(from, now);
      case 'claim':
        return this.#rivals.heard(from, message, now);
      case 'describeCluster':
        return this.#answer(from, message.request, {
          role: 'central',
          name: this.#config.name,
          settings: this.#config.settings,
          pendingTasks: this.pendingTasks,
          complete: this.#leases.haveAllBeenHeard(now),
          ...describeParties(this.#registry, this.#away, (address) => this.#env.nameOf(address), now),
        });
      case 'drainWorker':
        return this.#drainWorker(from, message, now);
      case 'takeOverFrom':
        return this.#takeOverFrom(from, message, now);
      case 'readCounters':
        return this.#answer(from, message.request, this.#counted());
      case 'explainWaiting':
      case 'explainNeed':
        return this.#answer(
          from,
          message.request,
          pulls(this.#preset())
            ? this.#dispatcher.line(message, now)
            : lineOfQueues(this.#registry.workers.values(), this.pendingTasks),
        );
      default:
        // Meant for another role: nothing here waits for it.
        return;
    }
  }

  wake(timer: CentralTimer, _key: number, now: Millis): void {
    switch (timer) {
      case 'lease':
        return this.#endLeases(now);
      case 'publish':
        return this.#publisher.publish();
      case 'plan':
        return this.#dispatcher.wake();
      case 'occupied':
        return this.#occupied.tell();
      case 'relief':
        return this.#lookAtLoad(now);
    }
  }

  /** The answer to a problem that was handed to the solver. */
  solved(id: number, answer: SolverAnswer, _now: Millis): void {
    this.#dispatcher.solved(id, answer);
  }

  settle(now: Millis): void {
    this.#dispatcher.settle(now);
  }

  /** Says to whoever is at these places that this central is there: another one would have to end, or this one. */
  lookForOthers(places: readonly Address[], now: Millis): void {
    this.#rivals.look(places, now);
  }

  checkInvariants(now: Millis = 0): void {
    this.#queue.checkInvariants(now);
    this.#dispatcher.checkInvariants();
    checkMembership(this.#registry, this.#split, (worker) => this.#isMislabelled(worker));
  }

  #counted(): unknown {
    const matching = this.#relief.isMatching;
    const { matches } = this.#dispatcher;
    const { name } = this.#config;
    const { pendingTasks: pending } = this;
    return {
      name,
      ...this.counters,
      pending,
      matching,
      matches,
      planning: this.planning,
      ...this.#env.counted?.(),
    };
  }

  /** How planning has gone so far, by name. */
  get planning(): Readonly<Record<string, number>> {
    return this.#dispatcher.planning;
  }

  get workerCount(): number {
    return this.#registry.workers.size;
  }

  get schedulerCount(): number {
    return this.#registry.schedulers.size;
  }

  /** Tasks that wait here for a worker. */
  get pendingTasks(): number {
    return this.#placements.pending + this.#dispatcher.waitingTasks;
  }

  /** How things stand now, for whoever looks at the process: a few steps for each worker. */
  get standing(): CentralStanding {
    return {
      workers: countWorkers(this.#registry.workers.values()),
      schedulers: this.schedulerCount,
      schedulersAway: this.#away.count,
      placedTasks: this.placedTasks,
      pendingTasks: this.#placements.pending,
      unmatchedTasks: this.#dispatcher.unmatched,
      matches: this.#dispatcher.matches,
      isMatching: this.#relief.isMatching,
    };
  }

  /** Where processes may be looked at over HTTP. */
  get doors(): readonly Door[] {
    return doorsOf(this.#registry, this.#away);
  }

  /** Slots that are kept for tasks on their way. */
  get openMatches(): number {
    return this.#dispatcher.openMatches;
  }

  /** Tasks that were placed and are not known to have ended. */
  get placedTasks(): number {
    return this.#queue.size;
  }

  // ---- partitions, and what is placed in them

  #preset(): Preset {
    return this.#config.settings.policy.preset;
  }

  /** The workers that central may use: those of whichever class it places. */
  #placementScope(): Scope {
    const { long, short } = this.#preset();
    return effectiveScope(this.#preset(), long.by === 'central' ? long.over : short.over);
  }

  #mayPlaceAt(worker: WorkerRecord): boolean {
    const scope = this.#placementScope();
    return isActive(worker) && (scope === 'all' || scope === worker.partition);
  }

  /** A task of a time with another policy is here: it is placed, or counted where it runs, as it was then. */
  #startPlacing(now: Millis): void {
    if (this.#isPlacing) return;
    this.#isPlacing = true;
    for (const worker of this.#registry.workers.values()) {
      this.#queue.addWorker(worker.address, worker.slots, worker.capacity);
      this.#queue.setOpen(worker.address, this.#mayPlaceAt(worker), now);
    }
  }

  #placementEnded(from: Address, message: MessageOf<'placementEnded'>, now: Millis): void {
    this.#placements.ended(from, message, now);
    if (this.#split.short !== this.#shortWanted()) this.#relabel(now);
  }

  /** Where run times are not known at arrival, workers tell what short tasks took. */
  #shortCame(workMs: Millis): void {
    if (sizesAreGiven(this.#config.settings.policy)) this.#dispatcher.shortCame(workMs);
  }

  #shortWanted(): number {
    const { policy } = this.#config.settings;
    return shortWanted(policy, () => this.#share.shareOfShort(SHARE_BEFORE_ANY_WORK), this.#split.active);
  }

  /** In the short partition, and holds tasks that may not be there. */
  #isMislabelled({ partition, address }: WorkerRecord): boolean {
    return partition === 'short' && this.#placementScope() === 'general' && this.#queue.isBusy(address);
  }

  /** Brings the partitions to their sizes, as far as what runs allows it. */
  #relabel(now: Millis): void {
    const wanted = this.#shortWanted();
    if (wanted === this.#split.short) return;
    const { joined } = this.#split;
    const labelled = {
      length: joined.length,
      // Those that take no work belong to neither side, and stay there.
      at: (index: number): Labelled => {
        const worker = joined[index]!;
        const active = isActive(worker);
        const freeOfLong = active && !this.#queue.isBusy(worker.address);
        return { short: active && worker.partition === 'short', freeOfLong };
      },
    };
    for (const index of relabel(labelled, wanted, this.#split.short)) {
      const worker = joined[index]!;
      worker.partition = worker.partition === 'short' ? 'general' : 'short';
      this.#changed(worker, now);
    }
    this.#placements.placePending(now);
  }

  // ---- membership

  #register(from: Address, message: MessageOf<'register'>, now: Millis): void {
    const same = this.#registry.workerNamed(message.name);
    if (same !== undefined && same.address !== from) {
      if (this.#names.refuses(from, same, now)) return;
      // It was started again: what its former self ran is lost, and that is known at once.
      this.#workerLost(same, now);
    }
    let worker = this.#registry.workers.get(from);
    if (worker === undefined) {
      worker = this.#admit(from, message, now);
      this.#publisher.newcomer(from);
    }
    worker.heardAt = now;
    if (worker.draining !== message.draining) {
      worker.draining = message.draining;
      if (!message.draining) worker.drained = false;
      this.#changed(worker, now);
    }
    this.#dispatcher.found(from, message.runs, now);
    if (message.held.length > 0) this.#startPlacing(now);
    this.#queue.restore(from, message.held.map(heldBy), this.#onTheWaySince(now), now);
    if (this.#isMislabelled(worker)) {
      worker.partition = 'general';
      this.#changed(worker, now);
    }
    this.#welcome(from);
    this.#publisher.publishSoon(now);
    this.#relabel(now);
    this.#placements.placePending(now);
  }

  #welcome(party: Address): void {
    this.#env.send(party, { type: 'welcome', settings: this.#config.settings });
  }

  /** What was assigned since then may not have reached its worker yet. */
  #onTheWaySince(now: Millis): Millis {
    const { leaseMs } = this.#config.settings.timings;
    return leaseMs === 0 ? Number.NEGATIVE_INFINITY : now - leaseMs;
  }

  #admit(from: Address, message: MessageOf<'register'>, now: Millis): WorkerRecord {
    this.counters.workersJoined++;
    const worker = this.#registry.admit(from, message, now);
    if (this.#isPlacing) this.#queue.addWorker(from, message.slots, message.capacity);
    this.#changed(worker, now);
    return worker;
  }

  /** Something that others are told of the worker is new. */
  #changed(worker: WorkerRecord, now: Millis): void {
    const { address } = worker;
    if (this.#isPlacing) this.#queue.setOpen(address, this.#mayPlaceAt(worker), now);
    if (pulls(this.#preset())) this.#dispatcher.setOpen(worker, isActive(worker));
    this.#split.update(worker);
    this.#publisher.changed(address);
    this.#publisher.publishSoon(now);
  }

  #enlist(from: Address, message: MessageOf<'enlist'>, now: Millis): void {
    if (this.#takeovers.refuses(from, message)) return;
    const former = message.epoch > 0 ? this.#registry.schedulerTagged(message.tag) : undefined;
    if (former !== undefined && former.address !== from) this.#schedulerLost(former.address, now);
    const same = this.#registry.schedulerNamed(message.name);
    if (same !== undefined && same.address !== from) {
      // One journal has one owner at a time, so whoever has the same one is its next incarnation.
      if (same.tag !== message.tag && this.#names.refuses(from, same, now)) return;
      this.#schedulerLost(same.address, now);
    }
    const { name, tag, durable, draining } = message;
    for (const { address } of this.#away.returned(tag, name)) this.#publisher.ownerLost(address);
    const known = this.#registry.schedulers.get(from);
    if (known?.durable !== durable || known.draining !== draining) this.#publisher.ownersChanged();
    if (!this.#registry.schedulers.has(from)) this.#publisher.ownerJoined(from);
    this.#occupied.schedulerCame(now);
    this.#registry.enlist(from, message, now);
    this.#welcome(from);
    this.#publisher.newcomer(from);
    this.#publisher.publishSoon(now);
  }

  #heartbeat(from: Address, { busy, queued }: MessageOf<'heartbeat'>, now: Millis): void {
    const worker = this.#registry.workers.get(from);
    const scheduler = this.#registry.schedulers.get(from);
    if (worker !== undefined) {
      worker.heardAt = now;
      worker.busy = busy;
      worker.queued = queued;
      // It says so before each of its heartbeats.
      const { heartbeatMs } = this.#config.settings.timings;
      if ((worker.aside?.saidAt ?? now) < now - heartbeatMs / 2) this.#aside(from, '', now);
      // It may not have heard it, or not have known then that this is central. Who drains to stop goes on all the same.
      const { drainWanted, draining } = worker;
      if (drainWanted !== draining) this.#env.send(from, { type: 'drain', on: drainWanted });
      if (busy === 0 && queued === 0 && this.#queue.isBusy(from)) this.#holdsNothing(from, now);
      // Whoever is welcomed says what is free.
      const wantsToKnow = this.#relief.isMatching || this.#dispatcher.waitingTasks > 0;
      if (busy === 0 && pulls(this.#preset())) this.#dispatcher.idle(from, now);
      if (wantsToKnow && this.#dispatcher.isDoubtful(from, busy, now)) this.#welcome(from);
    } else if (scheduler !== undefined) {
      scheduler.heardAt = now;
      scheduler.jobs = busy;
      scheduler.waiting = queued;
    }
    if (this.#isStranger(from)) return;
    // What is about to be published has not been missed.
    if (!this.#publisher.owes(from)) this.#acknowledge(from);
  }

  #acknowledge(party: Address): void {
    const { version, ownersVersion } = this.#publisher;
    const matching = this.#relief.isMatching;
    this.#env.send(party, { type: 'heartbeatAck', version, ownersVersion, matching });
  }

  /** Where there are heartbeats everybody hears by them whether central matches short jobs. */
  #lookAtLoad(now: Millis): void {
    const { policy, timings } = this.#config.settings;
    const { short, byClass } = policy.preset;
    const mayGiveUp = policy.matching === 'auto' && short.by === 'matching' && byClass;
    if (!mayGiveUp || timings.heartbeatMs === 0 || this.#env.busyMs === undefined) return;
    this.#relief.look(this.#env.busyMs(), now);
    this.#env.setTimer('relief', 0, now + LOOK_MS);
  }

  /** An idle worker holds no placed tasks but those on their way to it: the end of others was not heard. */
  #holdsNothing(worker: Address, now: Millis): void {
    this.#queue.restore(worker, [], this.#onTheWaySince(now), now);
    if (this.#split.short !== this.#shortWanted()) this.#relabel(now);
  }

  #resync(from: Address, now: Millis): void {
    if (this.#isStranger(from)) return;
    this.#publisher.newcomer(from);
    this.#publisher.publishSoon(now);
  }

  /** Nobody would say that it is gone: what it wants is nothing that could be kept. It is told to join. */
  #isStranger(from: Address): boolean {
    if (this.#registry.workers.has(from) || this.#registry.schedulers.has(from)) return false;
    this.#env.send(from, { type: 'strangerTold' });
    return true;
  }

  #partyLeft(from: Address, now: Millis): void {
    const worker = this.#registry.workers.get(from);
    if (worker !== undefined) this.#removeWorker(worker, now);
    if (this.#registry.schedulers.has(from)) this.#removeScheduler(from, now);
  }

  #workerLost(worker: WorkerRecord, now: Millis): void {
    this.counters.workersLost++;
    this.#removeWorker(worker, now);
  }

  #removeWorker(worker: WorkerRecord, now: Millis): void {
    this.#registry.removeWorker(worker);
    this.#split.remove(worker);
    this.#queue.removeWorker(worker.address);
    this.#dispatcher.removeWorker(worker.address);
    this.#publisher.left(worker.address);
    this.#relabel(now);
    this.#publisher.publishSoon(now);
  }

  #schedulerLost(address: Address, now: Millis): void {
    this.counters.schedulersLost++;
    this.#removeScheduler(address, now);
  }

  #removeScheduler(address: Address, now: Millis): void {
    const scheduler = this.#registry.schedulers.get(address);
    this.#registry.removeScheduler(address);
    this.#publisher.ownersChanged();
    this.#placements.ownerGone(address);
    this.#dispatcher.removeOwner(address, now);
    if (scheduler?.durable) {
      this.#away.left(scheduler, now);
      this.#publisher.ownerAway(address);
    } else {
      this.#publisher.ownerLost(address);
    }
    this.#publisher.publishSoon(now);
  }

  // ---- leases

  #armLease(now: Millis): void {
    const at = this.#leases.nextLook(now);
    if (at !== undefined) this.#env.setTimer('lease', 0, at);
  }

  #endLeases(now: Millis): void {
    const { workers, schedulers, givenUp } = this.#leases.ended(now);
    for (const worker of workers) this.#workerLost(worker, now);
    for (const { address } of schedulers) this.#schedulerLost(address, now);
    this.#takeovers.look(now);
    for (const { address } of givenUp) {
      this.#publisher.ownerLost(address);
      this.#publisher.ownersChanged();
      this.#publisher.publishSoon(now);
    }
    this.#armLease(now);
  }

  // ---- operators

  #drainWorker(from: Address, message: MessageOf<'drainWorker'>, now: Millis): void {
    const worker = this.#registry.workerNamed(message.worker);
    if (worker === undefined) return this.#env.send(from, noSuchWorker(message));
    worker.drainWanted = message.on;
    if (!message.on) worker.drained = false;
    this.#env.send(worker.address, { type: 'drain', on: message.on });
    this.#activityChanged(worker, now);
    this.#answer(from, message.request, describeDrain(worker));
  }

  /** Somebody else is to go on with the jobs of this scheduler, whether it is there or not. */
  #takeOverFrom(from: Address, { request, scheduler: name }: MessageOf<'takeOverFrom'>, now: Millis): void {
    const present = this.#registry.schedulerNamed(name);
    const gone = present ?? this.#away.named(name);
    if (gone === undefined || gone.epoch === 0) return this.#env.send(from, noTakeover(request, name, gone));
    this.#takeovers.want(gone);
    if (present !== undefined) this.#schedulerLost(present.address, now);
    this.#takeovers.look(now);
    this.#answer(from, request, { scheduler: name, jobs: gone.jobs });
  }

  /** Nothing can be started there at present, or (no reason) something can again. */
  #aside(from: Address, reason: string, now: Millis): void {
    const worker = this.#registry.workers.get(from);
    if (worker === undefined) return;
    const wasActive = isActive(worker);
    worker.aside = reason === '' ? undefined : { reason, saidAt: now };
    if (isActive(worker) !== wasActive) this.#activityChanged(worker, now);
  }

  /** The worker takes work, and did not before, or the other way round. */
  #activityChanged(worker: WorkerRecord, now: Millis): void {
    this.#changed(worker, now);
    this.#relabel(now);
    this.#placements.placePending(now);
  }

  #drained(from: Address): void {
    const worker = this.#registry.workers.get(from);
    if (worker === undefined) return;
    worker.drained = true;
    // Before its next heartbeat says so.
    worker.busy = 0;
    worker.queued = 0;
  }

  #answer(to: Address, request: number, value: unknown): void {
    this.#env.send(to, { type: 'answer', request, value });
  }
}

function sizesAreGiven({ estimator }: PolicySettings): boolean {
  return estimator === 'given';
}

function policyOf(policy: PolicySettings, env: CentralEnvironment): CentralPolicy {
  const { cutoffMs, reserve, preset } = policy;
  const { policy: name, options } = preset.decidedBy;
  return makePolicy(name, options, {
    cutoffMs,
    reserve,
    sizesAreGiven: sizesAreGiven(policy),
    random: () => env.random(),
  });
}

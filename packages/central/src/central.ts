import {
  type Address,
  effectiveScope,
  type HeldTask,
  invariant,
  type Machine,
  type Message,
  type MessageOf,
  type Millis,
  maySeek,
  type Preset,
  type Scope,
} from '@goshawk/core';
import { AwayOwners } from './away-owners.js';
import type { CentralConfig, CentralCounters, CentralEnvironment, CentralTimer } from './contract.js';
import { describeParties, stateOf } from './describing.js';
import { Dispatcher, type Dispatching } from './dispatch/dispatcher.js';
import { Matcher } from './matching/matcher.js';
import { OccupiedNews } from './matching/occupied-news.js';
import { LOOK_MS, Relief } from './matching/relief.js';
import { type Labelled, relabel, shortPartitionSize } from './partition.js';
import { PendingTasks } from './pending-tasks.js';
import { centralPolicy } from './policies/index.js';
import { Publisher } from './publisher.js';
import { isActive, Registry, type WorkerRecord } from './registry.js';
import { Split } from './split.js';
import { type HeldPlacement, type PlacedTask, WaitingTimeQueue } from './waiting-time-queue.js';
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
  readonly #share = new WorkShare();
  readonly #matcher: Dispatching;
  readonly #occupied: OccupiedNews;
  readonly #relief = new Relief();
  /** Tasks that no worker can take at present, in order of arrival. */
  readonly #pending = new PendingTasks();
  /** Of the workers that take work: those that drain are in no partition's size. */
  readonly #split = new Split();
  #publishArmed = false;
  #leaseDueAt: Millis = 0;

  constructor(config: CentralConfig, env: CentralEnvironment) {
    this.#config = config;
    this.#env = env;
    const { policy, timings } = config.settings;
    this.#publisher = new Publisher(env, this.#registry, this.#away, maySeek(policy.preset));
    const { decidedBy } = policy.preset;
    this.#matcher =
      decidedBy === undefined
        ? new Matcher(env, policy, 2 * timings.retryMs, (tasks) => this.#relief.came(tasks))
        : new Dispatcher(env, centralPolicy(decidedBy, policy), 2 * timings.retryMs);
    this.#occupied = new OccupiedNews(env, this.#registry, this.#matcher, config.settings);
  }

  // ---- doors

  start(now: Millis): void {
    this.#armLease(now);
    this.#lookAtLoad(now);
  }

  receive(from: Address, message: Message, now: Millis): void {
    switch (message.type) {
      case 'pull':
        this.#matcher.pulled(from, message, now);
        return this.#occupied.tellSoon(now);
      case 'need':
        this.#matcher.needed(from, message, now);
        return this.#occupied.tellSoon(now);
      case 'unused':
        return this.#matcher.unused(message, now);
      case 'heartbeat':
        return this.#heartbeat(from, message, now);
      case 'placementStarted':
        return this.#placementStarted(from, message, now);
      case 'placementEnded':
        return this.#placementEnded(from, message, now);
      case 'place':
        return this.#place(from, message, now);
      case 'withdraw':
        this.#matcher.withdraw(from, message.job, now);
        return this.#pending.remove((task) => task.owner === from && task.job === message.job);
      case 'register':
        return this.#register(from, message, now);
      case 'enlist':
        return this.#enlist(from, message, now);
      case 'leave':
        return this.#partyLeft(from, now);
      case 'drained':
        return this.#drained(from);
      case 'usage':
        this.#share.add(message.shortMs, message.longMs, now);
        this.#matcher.shortCame(message.cameMs, now);
        this.#relief.came(message.cameTasks);
        return this.#relabel(now);
      case 'resync':
        return this.#resync(from, now);
      case 'describeCluster':
        return this.#env.send(from, { type: 'answer', request: message.request, value: this.#describe(now) });
      case 'drainWorker':
        return this.#drainWorker(from, message, now);
      case 'readCounters':
        return this.#env.send(from, {
          type: 'answer',
          request: message.request,
          value: {
            name: this.#config.name,
            ...this.counters,
            pending: this.pendingTasks,
            matching: this.#relief.isMatching,
            matches: this.#matcher.matches,
            ...this.#env.counted?.(),
          },
        });
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
        this.#publishArmed = false;
        return this.#publisher.publish();
      case 'match':
        return this.#matcher.wake(now);
      case 'occupied':
        return this.#occupied.tell();
      case 'relief':
        return this.#lookAtLoad(now);
    }
  }

  checkInvariants(now: Millis = 0): void {
    this.#queue.checkInvariants(now);
    this.#matcher.checkInvariants();
    const active = [...this.#registry.workers.values()].filter(isActive);
    const short = active.filter(({ partition }) => partition === 'short').length;
    invariant(
      active.length === this.#split.active && short === this.#split.short,
      () => `${short} of ${active.length} are short, counted ${this.#split.short} of ${this.#split.active}`,
    );
    for (const worker of this.#registry.workers.values()) {
      invariant(
        !this.#isMislabelled(worker),
        () => `${worker.name} is in the short partition and holds long tasks`,
      );
    }
  }

  get workerCount(): number {
    return this.#registry.workers.size;
  }

  get schedulerCount(): number {
    return this.#registry.schedulers.size;
  }

  /** Tasks that wait here for a worker. */
  get pendingTasks(): number {
    return this.#pending.size + this.#matcher.waitingTasks;
  }

  /** Tasks that were placed and are not known to have ended. */
  get placedTasks(): number {
    return this.#queue.size;
  }

  // ---- placing

  get #preset(): Preset {
    return this.#config.settings.policy.preset;
  }

  /** The workers that central may use: those of whichever class it places. */
  get #placementScope(): Scope {
    const { long, short } = this.#preset;
    return effectiveScope(this.#preset, long.by === 'central' ? long.over : short.over);
  }

  #place(owner: Address, message: MessageOf<'place'>, now: Millis): void {
    const { job, stage, long, estimateMs, demand } = message;
    const at: MessageOf<'placed'>['at'][number][] = [];
    for (const { task, attempt } of message.tasks) {
      const worker = this.#placeTask({ owner, job, stage, task, attempt, long, estimateMs, demand }, now);
      if (worker !== undefined) at.push({ task, attempt, worker });
    }
    if (at.length > 0) this.#env.send(owner, { type: 'placed', job, at });
  }

  /** @returns where the task is now; undefined when it waits here, or when a later attempt is known */
  #placeTask(task: PlacedTask, now: Millis): Address | undefined {
    const { owner, job, attempt } = task;
    const known = this.#queue.find(owner, job, task.task);
    if (known !== undefined && known.task.attempt > attempt) return undefined;
    if (known?.task.attempt === attempt) {
      // The owner asks because it heard nothing; maybe the worker has not either.
      this.#assign(task, known.worker);
      return known.worker;
    }
    if (known !== undefined) this.#queue.ended(owner, job, task.task, known.task.attempt, now);
    const worker = this.#queue.place(task, now);
    if (worker === undefined) {
      this.#pending.add(task);
      return undefined;
    }
    this.counters.tasksPlaced++;
    this.#assign(task, worker);
    return worker;
  }

  #assign(task: PlacedTask, worker: Address): void {
    const { owner, job, stage, attempt, long, estimateMs, demand } = task;
    this.#env.send(worker, {
      type: 'assign',
      owner,
      job,
      stage,
      task: task.task,
      attempt,
      long,
      estimateMs,
      demand,
    });
  }

  #placePending(now: Millis): void {
    for (const task of this.#pending.takeAll()) {
      const worker = this.#placeTask(task, now);
      if (worker === undefined) continue;
      this.#env.send(task.owner, {
        type: 'placed',
        job: task.job,
        at: [{ task: task.task, attempt: task.attempt, worker }],
      });
    }
  }

  #placementStarted(from: Address, message: MessageOf<'placementStarted'>, now: Millis): void {
    const { owner, job, task, attempt } = message;
    if (this.#queue.find(owner, job, task)?.worker !== from) return;
    this.#queue.started(owner, job, task, attempt, now);
  }

  #placementEnded(from: Address, message: MessageOf<'placementEnded'>, now: Millis): void {
    const { owner, job, task, attempt } = message;
    if (this.#queue.find(owner, job, task)?.worker !== from) return;
    this.#queue.ended(owner, job, task, attempt, now);
    if (this.#split.short !== this.#shortWanted) this.#relabel(now);
  }

  // ---- partitions

  get #shortWanted(): number {
    if (!this.#preset.partition) return 0;
    const { shortPartition } = this.#config.settings.policy;
    const fraction =
      shortPartition === 'auto' ? this.#share.shareOfShort(SHARE_BEFORE_ANY_WORK) : shortPartition;
    const { short, long } = this.#preset;
    const least = short.over === 'short' || long.over === 'short' ? 1 : 0;
    return shortPartitionSize(fraction, this.#split.active, least);
  }

  /** In the short partition, and holds tasks that may not be there. */
  #isMislabelled({ partition, address }: WorkerRecord): boolean {
    return partition === 'short' && this.#placementScope === 'general' && this.#queue.isBusy(address);
  }

  /** Brings the partitions to their sizes, as far as what runs allows it. */
  #relabel(now: Millis): void {
    const wanted = this.#shortWanted;
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
    this.#placePending(now);
  }

  // ---- membership

  #register(from: Address, message: MessageOf<'register'>, now: Millis): void {
    const same = this.#registry.workerNamed(message.name);
    // A worker that was started again: what its former self ran is lost, and that is known at once.
    if (same !== undefined && same.address !== from) this.#workerLost(same, now);
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
    this.#queue.restore(from, message.held.map(heldBy), this.#onTheWaySince(now), now);
    if (this.#isMislabelled(worker)) {
      worker.partition = 'general';
      this.#changed(worker, now);
    }
    this.#welcome(from);
    this.#publishSoon(now);
    this.#relabel(now);
    this.#placePending(now);
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
    const worker = this.#registry.addWorker({
      address: from,
      name: message.name,
      slots: message.slots,
      capacity: message.capacity,
      partition: 'general',
      draining: message.draining,
      drained: false,
      drainWanted: false,
      heardAt: now,
      busy: 0,
      queued: 0,
    });
    this.#queue.addWorker(from, message.slots, message.capacity);
    this.#changed(worker, now);
    return worker;
  }

  /** Something that others are told of the worker is new. */
  #changed(worker: WorkerRecord, now: Millis): void {
    const { address, partition } = worker;
    const inScope = this.#placementScope === 'all' || this.#placementScope === partition;
    this.#queue.setOpen(address, inScope && isActive(worker), now);
    this.#matcher.setOpen(worker, isActive(worker));
    this.#split.update(worker);
    this.#publisher.changed(address);
    this.#publishSoon(now);
  }

  #enlist(from: Address, message: MessageOf<'enlist'>, now: Millis): void {
    const same = this.#registry.schedulerNamed(message.name);
    if (same !== undefined && same.address !== from) this.#schedulerLost(same.address, now);
    const { name, tag, endpoint, durable, draining } = message;
    this.#away.returned(tag, name);
    const known = this.#registry.schedulers.get(from);
    if (known?.durable !== durable || known.draining !== draining) this.#publisher.ownersChanged();
    if (!this.#registry.schedulers.has(from)) this.#publisher.ownerJoined(from);
    this.#occupied.schedulerCame(now);
    this.#registry.addScheduler({
      address: from,
      name,
      tag,
      endpoint,
      durable,
      draining,
      heardAt: now,
      jobs: 0,
      waiting: 0,
    });
    this.#welcome(from);
    this.#publisher.newcomer(from);
    this.#publishSoon(now);
  }

  #heartbeat(from: Address, { busy, queued }: MessageOf<'heartbeat'>, now: Millis): void {
    const worker = this.#registry.workers.get(from);
    const scheduler = this.#registry.schedulers.get(from);
    if (worker !== undefined) {
      worker.heardAt = now;
      worker.busy = busy;
      worker.queued = queued;
      if (worker.drainWanted && !worker.draining) this.#env.send(from, { type: 'drain', on: true });
      if (busy === 0 && queued === 0 && this.#queue.isBusy(from)) this.#holdsNothing(from, now);
      // Whoever is welcomed says what is free.
      const wantsToKnow = this.#relief.isMatching || this.#matcher.waitingTasks > 0;
      if (wantsToKnow && this.#matcher.isDoubtful(from, busy, now)) this.#welcome(from);
    } else if (scheduler !== undefined) {
      scheduler.heardAt = now;
      scheduler.jobs = busy;
      scheduler.waiting = queued;
    } else {
      return this.#env.send(from, { type: 'strangerTold' });
    }
    // What is about to be published has not been missed.
    if (!this.#publisher.hasNews) this.#acknowledge(from);
  }

  #acknowledge(party: Address): void {
    const { version, ownersVersion } = this.#publisher;
    const matching = this.#relief.isMatching;
    this.#env.send(party, { type: 'heartbeatAck', version, ownersVersion, matching });
  }

  /** Where there are heartbeats everybody hears by them whether central matches short jobs. */
  #lookAtLoad(now: Millis): void {
    const { policy, timings } = this.#config.settings;
    const { short, decidedBy } = policy.preset;
    const mayGiveUp = policy.matching === 'auto' && short.by === 'matching' && decidedBy === undefined;
    if (!mayGiveUp || timings.heartbeatMs === 0 || this.#env.busyMs === undefined) return;
    this.#relief.look(this.#env.busyMs(), now);
    this.#env.setTimer('relief', 0, now + LOOK_MS);
  }

  /** An idle worker holds no placed tasks but those on their way to it: the end of others was not heard. */
  #holdsNothing(worker: Address, now: Millis): void {
    this.#queue.restore(worker, [], this.#onTheWaySince(now), now);
    if (this.#split.short !== this.#shortWanted) this.#relabel(now);
  }

  #resync(from: Address, now: Millis): void {
    if (!this.#registry.workers.has(from) && !this.#registry.schedulers.has(from)) {
      return this.#env.send(from, { type: 'strangerTold' });
    }
    this.#publisher.newcomer(from);
    this.#publishSoon(now);
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
    this.#matcher.removeWorker(worker.address, now);
    this.#publisher.left(worker.address);
    this.#relabel(now);
    this.#publishSoon(now);
  }

  #schedulerLost(address: Address, now: Millis): void {
    this.counters.schedulersLost++;
    this.#removeScheduler(address, now);
  }

  #removeScheduler(address: Address, now: Millis): void {
    const scheduler = this.#registry.schedulers.get(address);
    this.#registry.removeScheduler(address);
    this.#publisher.ownersChanged();
    this.#pending.remove((task) => task.owner === address);
    this.#matcher.removeOwner(address, now);
    if (scheduler?.durable) {
      this.#away.left(scheduler, now);
      this.#publisher.ownerAway(address);
    } else {
      this.#publisher.ownerLost(address);
    }
    this.#publishSoon(now);
  }

  #publishSoon(now: Millis): void {
    if (this.#publishArmed) return;
    this.#publishArmed = true;
    this.#env.setTimer('publish', 0, now + this.#config.settings.timings.publishMs);
  }

  // ---- leases

  #armLease(now: Millis): void {
    const { heartbeatMs } = this.#config.settings.timings;
    if (heartbeatMs === 0) return;
    this.#leaseDueAt = now + heartbeatMs;
    this.#env.setTimer('lease', 0, this.#leaseDueAt);
  }

  #endLeases(now: Millis): void {
    const { leaseMs } = this.#config.settings.timings;
    if (leaseMs === 0) return;
    const overslept = now - this.#leaseDueAt > leaseMs / 2;
    for (const worker of [...this.#registry.workers.values()]) {
      // Central was away itself, and what the others said meanwhile may still wait at its door.
      if (overslept) worker.heardAt = now;
      else if (now - worker.heardAt > leaseMs) this.#workerLost(worker, now);
    }
    for (const scheduler of [...this.#registry.schedulers.values()]) {
      if (overslept) scheduler.heardAt = now;
      else if (now - scheduler.heardAt > leaseMs) this.#schedulerLost(scheduler.address, now);
    }
    for (const { address } of this.#away.giveUp(now)) {
      this.#publisher.ownerLost(address);
      this.#publisher.ownersChanged();
      this.#publishSoon(now);
    }
    this.#armLease(now);
  }

  // ---- operators

  #drainWorker(from: Address, message: MessageOf<'drainWorker'>, now: Millis): void {
    const worker = this.#registry.workerNamed(message.worker);
    if (worker === undefined) {
      return this.#env.send(from, {
        type: 'refused',
        request: message.request,
        code: 'unknown-worker',
        message: `there is no worker ${message.worker}`,
        hint: '`goshawk workers` lists those there are',
        retryMs: undefined,
      });
    }
    worker.drainWanted = message.on;
    if (!message.on) worker.drained = false;
    this.#env.send(worker.address, { type: 'drain', on: message.on });
    this.#changed(worker, now);
    this.#relabel(now);
    this.#placePending(now);
    this.#env.send(from, {
      type: 'answer',
      request: message.request,
      value: { worker: worker.name, state: stateOf(worker), running: worker.busy },
    });
  }

  #drained(from: Address): void {
    const worker = this.#registry.workers.get(from);
    if (worker === undefined) return;
    worker.drained = true;
    // Before its next heartbeat says so.
    worker.busy = 0;
    worker.queued = 0;
  }

  #describe(now: Millis): unknown {
    return {
      role: 'central',
      name: this.#config.name,
      settings: this.#config.settings,
      pendingTasks: this.pendingTasks,
      ...describeParties(this.#registry, this.#away, (address) => this.#env.nameOf(address), now),
    };
  }
}

function heldBy(held: HeldTask): HeldPlacement {
  const { owner, job, task, attempt, long, estimateMs, running, elapsedMs } = held;
  return {
    task: { owner, job, stage: 0, task, attempt, long, estimateMs, demand: {} },
    elapsedMs: running ? elapsedMs : undefined,
  };
}

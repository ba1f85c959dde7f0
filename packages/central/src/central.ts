import {
  type Address,
  type Counters,
  type Forecast,
  ignoreForeign,
  type Machine,
  type Message,
  type MessageOf,
  type Millis,
  ownerFor,
  type UserGrants,
} from '@goshawk/core';
import type { SolverAnswer, StageView } from '@goshawk/policies';
import { Chronicle } from './chronicle.js';
import { countWorkers, scrapeTargetsOf } from './cluster/describing.js';
import type {
  CentralConfig,
  CentralCounters,
  CentralEnvironment,
  CentralStatus,
  CentralTimer,
  ScrapeTarget,
} from './contract.js';
import { CHECK_INTERVAL_MS } from './dispatch/load-shedding.js';
import {
  acknowledge,
  connectionBroke,
  endLeases,
  isMember,
  partyLeft,
  recordHeartbeat,
  restoreMembers,
  resync,
  startMembership,
} from './members/membership.js';
import { enlistScheduler, ownerOf, takeOver, updateJournals } from './members/scheduler-membership.js';
import { welcome, welcomeAll } from './members/welcoming.js';
import {
  checkPartitions,
  drainWorker,
  explainLoss,
  lostCount,
  quarantineWorker,
  recordWork,
  registerWorker,
  relabel,
  workerDrained,
  workerRegistered,
} from './members/worker-membership.js';
import { Queries } from './queries.js';
import { CentralState } from './state.js';

/** Messages accepted only from members, because no message would report the departure of another sender. */
const MEMBERS_ONLY: ReadonlySet<Message['type']> = new Set([
  'need',
  'unused',
  'place',
  'withdraw',
  'holdings',
  'notices',
  'usage',
  'resync',
  'outlined',
  'counted',
]);

/**
 * The central scheduler: keeps the membership, and assigns tasks to workers by its policy. It owns no jobs, and can
 * rebuild its state from messages.
 */
export class Central implements Machine<CentralTimer> {
  readonly #s: CentralState;
  readonly #chronicle: Chronicle;
  readonly #queries: Queries;

  constructor(config: CentralConfig, env: CentralEnvironment) {
    this.#s = new CentralState(config, env);
    this.#chronicle = new Chronicle(this.#s);
    this.#queries = new Queries(this.#s, () => this.#counterValues());
    if (config.users !== undefined) this.#grant(config.users);
  }

  // ---- inputs

  start(now: Millis): void {
    this.#s.duplicates.start(now);
    startMembership(this.#s, now);
    // An earlier central may have started tasks, which their workers have not reported yet.
    this.#s.isUnsure = this.#s.config.users !== undefined && !this.#s.leases.haveAllReported(now);
    if (this.#s.isUnsure) this.#s.dispatcher.setUnsure(true);
    this.#checkLoad(now);
    this.#s.outlook.start(now);
    this.#chronicle.start(now);
  }

  receive(from: Address, message: Message, now: Millis): void {
    const s = this.#s;
    if (MEMBERS_ONLY.has(message.type) && this.#isUnregistered(from)) return;
    switch (message.type) {
      case 'pull':
        s.dispatcher.pulled(from, message, now);
        return s.occupied.publishSoon(now);
      case 'need':
        s.dispatcher.needed(from, message, now);
        return s.occupied.publishSoon(now);
      case 'unused':
        return s.dispatcher.unused(from, message, now);
      case 'heartbeat':
        return this.#heartbeat(from, message, now);
      case 'placementStarted':
        if (s.dispatcher.placementStarted(from, message, now)) this.#askToRegister(from);
        return;
      case 'placementEnded':
        s.dispatcher.placementEnded(from, message, now);
        return relabel(s, now);
      case 'place':
        return s.dispatcher.place(from, message, now);
      case 'withdraw':
        return s.dispatcher.withdraw(from, message.job, now);
      case 'register':
        return this.#register(from, message, now);
      case 'enlist':
        enlistScheduler(s, from, message, now);
        this.#sendLimitsIfAny(from);
        return s.occupied.schedulerJoined(now);
      case 'leave':
        return partyLeft(s, from, now);
      case 'holdings':
        return this.#recordHoldings(from, message);
      case 'notices':
        return this.#storeNotices(from, message);
      case 'drained':
        s.dispatcher.drained(from, now);
        return workerDrained(s, from);
      case 'quarantine':
        return quarantineWorker(s, from, message.reason, now);
      case 'usage':
        return this.#recordUsage(from, message, now);
      case 'outlined':
        return s.outlook.outlined(from, message, now);
      case 'counted':
        return this.#chronicle.counted(from, message, now);
      case 'resync':
        return resync(s, from, now);
      case 'seekOwner':
        return s.env.send(from, {
          type: 'ownerIs',
          ...ownerOf(s, message.tag, now),
        });
      case 'claim':
        return s.duplicates.claimReceived(from, message, now);
      case 'drainWorker':
        return drainWorker(s, from, message, now);
      case 'journals':
        return updateJournals(s, from, message, now);
      case 'remember':
        return restoreMembers(s, from, message, now);
      case 'takeOverFrom':
        return takeOver(s, from, message, now);
      case 'planEnd':
        return this.#planEnd(from, message, now);
      case 'findSchedulers':
      case 'describeCluster':
      case 'listWorkers':
      case 'readCounters':
      case 'explainLine':
      case 'explainNeed':
      case 'readEvents':
      case 'readHistory':
      case 'describeShares':
        return this.#queries.receive(from, message, now);
      default:
        return ignoreForeign<'central'>(message);
    }
  }

  wake(timer: CentralTimer, _key: number, now: Millis): void {
    const s = this.#s;
    switch (timer) {
      case 'lease':
        if (s.isUnsure && s.leases.haveAllReported(now)) {
          s.isUnsure = false;
          s.dispatcher.setUnsure(false);
        }
        return endLeases(s, now);
      case 'publish':
        return s.publisher.publish(now);
      case 'plan':
        return s.dispatcher.wake();
      case 'occupied':
        return s.occupied.publish();
      case 'relief':
        return this.#checkLoad(now);
      case 'outlook':
        return s.outlook.wake(now);
      case 'chronicle':
        return this.#chronicle.wake(now);
    }
  }

  disconnected(from: Address, now: Millis): void {
    connectionBroke(this.#s, from, now);
  }

  /** Handles the solver's answer. */
  solved(id: number, answer: SolverAnswer, _now: Millis): void {
    this.#s.dispatcher.solved(id, answer);
  }

  /** Handles a forecast of the driver. */
  foreseen(forecast: Forecast, now: Millis): void {
    this.#s.outlook.foreseen(forecast, now);
  }

  /** Adds what the driver found out about a lost worker to the cause that `goshawk workers` shows. */
  explainLoss(worker: string, address: string, why: string): void {
    explainLoss(this.#s, worker, address, why);
  }

  /** Applies the grants of users after the operator changed them. */
  grant(grants: UserGrants): void {
    this.#s.wereLimited ||= this.#s.holdings.isLimited;
    this.#grant(grants);
    if (this.#s.wereLimited || this.#s.holdings.isLimited)
      for (const scheduler of this.#s.registry.schedulers.members.keys()) this.#sendLimits(scheduler);
  }

  /** Stages that could start but that the policy has left waiting; for checks. */
  startable(now: Millis): StageView[] {
    return this.#s.dispatcher.startable(now);
  }

  settle(now: Millis): void {
    this.#s.dispatcher.settle(now);
  }

  /** Contacts these addresses of this cluster, at which another central may run; see `DuplicateCentrals`. */
  lookForOthers(addresses: readonly Address[], now: Millis): void {
    this.#s.duplicates.announce(addresses, now);
  }

  checkInvariants(): void {
    this.#s.dispatcher.checkInvariants();
    checkPartitions(this.#s);
  }

  // ---- status

  get counters(): CentralCounters {
    return { ...this.#s.counters, tasksPlaced: this.#s.dispatcher.tasksPlaced };
  }

  /** Number of tasks that wait here for a worker. */
  get pendingTasks(): number {
    return this.#s.dispatcher.waitingTasks;
  }

  /** Returns a snapshot for metrics. It takes time in proportion to the number of workers. */
  status(now: Millis): CentralStatus {
    const missing = this.#s.expected.missing(now);
    const { members, away } = this.#s.registry.schedulers;
    const shared = away.filter(({ epoch }) => epoch > 0).length;
    return {
      workers: countWorkers(this.#s.registry.workers.values()),
      lostWorkers: lostCount(this.#s, now),
      schedulers: members.size,
      schedulersAway: away.length,
      schedulersMissing: missing.length,
      unownedJournals: shared + missing.filter((each) => each.shared).length,
      placedTasks: this.placedTasks,
      pendingTasks: this.#s.dispatcher.pendingTasks,
      unmatchedTasks: this.#s.dispatcher.unmatched,
      matches: this.#s.dispatcher.matches,
      isMatching: this.#isMatching,
    };
  }

  /** HTTP addresses of all processes. */
  get scrapeTargets(): readonly ScrapeTarget[] {
    return scrapeTargetsOf(this.#s.registry);
  }

  /** Number of slots reserved for matches in flight. */
  get openMatches(): number {
    return this.#s.dispatcher.unconfirmedMatches;
  }

  /** Number of placed tasks whose end was not reported. */
  get placedTasks(): number {
    return this.#s.dispatcher.placedTasks;
  }

  #counterValues(): Counters {
    const { matches } = this.#s.dispatcher;
    const { pendingTasks: pending } = this;
    return {
      ...this.counters,
      pending,
      matches,
      planning: this.planning,
      ...this.#s.env.counted?.(),
    } as Counters;
  }

  /** Statistics of planning, by name. */
  get planning(): Readonly<Record<string, number>> {
    return this.#s.dispatcher.planning;
  }

  // ---- answers to clients

  #planEnd(from: Address, message: MessageOf<'planEnd'>, now: Millis): void {
    const key = this.#s.env.clientKeyOf?.(from);
    const user = ownerFor(key, message.type) ?? message.outline.user;
    const outline = { ...message.outline, user };
    this.#s.outlook.planEnd(from, key?.name ?? `${from}`, { ...message, outline }, now);
  }

  // ---- members

  #register(from: Address, message: MessageOf<'register'>, now: Millis): void {
    if (!registerWorker(this.#s, from, message, now)) return;
    this.#s.dispatcher.addReported(from, message.runs, now);
    workerRegistered(this.#s, from, now);
  }

  #heartbeat(from: Address, message: MessageOf<'heartbeat'>, now: Millis): void {
    const { busy, queued } = message;
    if (recordHeartbeat(this.#s, from, message, now) !== undefined) {
      if (busy === 0) {
        this.#s.dispatcher.idle(from, queued, now);
        relabel(this.#s, now);
      }
      // The welcome makes the worker report its free slots and its runs.
      const asksForState = this.#s.pulls && (this.#isMatching || this.#s.dispatcher.waitingTasks > 0);
      const isStale = asksForState && this.#s.dispatcher.isStale(from, busy, now);
      if (this.#s.dispatcher.checkLoans(from, now) || isStale) welcome(this.#s, from);
      // Central adds the runs that the registration lists, and ends the placed tasks that it does not list.
      if (this.#s.dispatcher.areBooksOutdated(from, busy + queued, now)) return this.#askToRegister(from);
    }
    if (this.#isUnregistered(from)) return;
    acknowledge(this.#s, from, this.#isMatching);
    this.#sendLimitsIfAny(from);
  }

  #recordUsage(from: Address, message: MessageOf<'usage'>, now: Millis): void {
    // If run times are unknown at arrival, the run times that workers report size the reserve instead.
    if (this.#s.config.settings.policy.estimator === 'given')
      this.#s.dispatcher.shortArrived(message.arrivedMs);
    this.#s.shedding.arrived(message.arrivedTasks);
    this.#learnCutoff(from, message);
    recordWork(this.#s, message, now);
  }

  #storeNotices(from: Address, { notices }: MessageOf<'notices'>): void {
    const scheduler = this.#s.registry.schedulers.members.get(from);
    if (scheduler === undefined) return;
    for (const { number, at, kind, text } of notices) {
      if (number <= scheduler.lastNotice) continue;
      scheduler.lastNotice = number;
      this.#s.env.noticeReceived?.({ kind, scheduler: scheduler.name, text, at });
    }
    this.#s.env.send(from, { type: 'noticesStored', number: scheduler.lastNotice });
  }

  #recordHoldings(from: Address, { users }: MessageOf<'holdings'>): void {
    const tag = this.#s.registry.schedulers.members.get(from)?.tag;
    if (tag !== undefined) this.#s.holdings.update(tag, users);
  }

  #learnCutoff(from: Address, { completed }: MessageOf<'usage'>): void {
    if (!this.#s.cutoff.isLearned || completed.length === 0) return;
    const fromMs = this.#s.cutoff.settings.policy.cutoffMs;
    // The welcome with the present cutoff may have been lost.
    if (!this.#s.cutoff.completed(completed)) return welcome(this.#s, from);
    const toMs = this.#s.cutoff.settings.policy.cutoffMs;
    this.#s.env.eventOccurred?.({ kind: 'cutoff-changed', fromMs, toMs });
    welcomeAll(this.#s);
  }

  /** Checks for overload. Heartbeat acknowledgments report whether central matches short jobs. */
  #checkLoad(now: Millis): void {
    const { policy, timings } = this.#s.config.settings;
    const { short, byClass } = policy.preset;
    const mayGiveUp = policy.matching === 'auto' && short.by === 'matching' && byClass;
    if (!mayGiveUp || timings.heartbeatMs === 0 || this.#s.env.busyMs === undefined) return;
    this.#s.shedding.check(this.#s.env.busyMs(), now);
    this.#s.env.setTimer('relief', 0, now + CHECK_INTERVAL_MS);
  }

  #grant(grants: UserGrants): void {
    this.#s.dispatcher.grant(grants);
    this.#s.holdings.grant(grants);
  }

  #sendLimitsIfAny(to: Address): void {
    if (this.#s.holdings.isLimited || this.#s.wereLimited) this.#sendLimits(to);
  }

  #sendLimits(to: Address): void {
    const { schedulers } = this.#s.registry;
    const tag = schedulers.members.get(to)?.tag;
    if (tag === undefined) return;
    const tags = schedulers.all.map((each) => each.tag);
    this.#s.env.send(to, this.#s.holdings.limitsFor(tag, tags, !this.#s.isUnsure));
  }

  /** Central matches short jobs if it is not overloaded, or if limits on running tasks require it. */
  get #isMatching(): boolean {
    return this.#s.shedding.isMatching || this.#s.dispatcher.hasLimits;
  }

  /** Whether the sender is no member. If so, asks it to register. */
  #isUnregistered(from: Address): boolean {
    if (isMember(this.#s, from)) return false;
    this.#askToRegister(from);
    return true;
  }

  #askToRegister(party: Address): void {
    this.#s.env.send(party, { type: 'notRegistered' });
  }
}

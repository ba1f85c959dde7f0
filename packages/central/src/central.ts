import {
  type Address,
  type AnswerType,
  type AnswerValue,
  type Counters,
  type EventPage,
  type Forecast,
  type HistoryPage,
  type Machine,
  type Message,
  type MessageOf,
  type Millis,
  ownerFor,
  pulls,
  type UserGrants,
} from '@goshawk/core';
import { type BookedJob, policyOf, type SolverAnswer, type StageView } from '@goshawk/policies';
import { Chronicle } from './chronicle.js';
import { countWorkers, scrapeTargetsOf } from './cluster/describing.js';
import { DuplicateCentrals } from './cluster/duplicate-centrals.js';
import { Holdings } from './cluster/holdings.js';
import { LearnedCutoff } from './cluster/learned-cutoff.js';
import { Membership } from './cluster/membership.js';
import type {
  CentralConfig,
  CentralCounters,
  CentralEnvironment,
  CentralStatus,
  CentralTimer,
  ScrapeTarget,
} from './contract.js';
import { Dispatcher } from './dispatch/dispatcher.js';
import { lineOfQueues } from './dispatch/line.js';
import { CHECK_INTERVAL_MS, LoadShedding } from './dispatch/load-shedding.js';
import { OccupiedPublisher } from './dispatch/occupied-publisher.js';
import { Outlook } from './outlook.js';

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
  readonly #config: CentralConfig;
  readonly #env: CentralEnvironment;
  readonly #counters: CentralCounters = {
    tasksPlaced: 0,
    workersJoined: 0,
    workersLost: 0,
    schedulersLost: 0,
  };
  readonly #members: Membership;
  readonly #dispatcher: Dispatcher;
  readonly #occupied: OccupiedPublisher;
  readonly #shedding = new LoadShedding();
  readonly #duplicates: DuplicateCentrals;
  readonly #cutoff: LearnedCutoff;
  readonly #holdings = new Holdings();
  readonly #outlook: Outlook;
  readonly #chronicle: Chronicle;
  /** Whether users had limits before an earlier change. Schedulers may still enforce removed limits. */
  #wereLimited = false;
  /** Whether tasks of users with limits may run that this central does not know yet. */
  #isUnsure = false;
  /** Whether workers report free slots. */
  readonly #pulls: boolean;

  constructor(config: CentralConfig, env: CentralEnvironment) {
    this.#config = config;
    this.#env = env;
    const { policy, timings } = config.settings;
    this.#pulls = pulls(policy.preset);
    this.#cutoff = new LearnedCutoff(config.settings);
    const cutoffMs = () => this.#cutoff.settings.policy.cutoffMs;
    const centralPolicy = policyOf(
      policy,
      cutoffMs,
      timings.heartbeatMs,
      () => env.random(),
      env.policyFailed,
    );
    const host = {
      tasksArrived: (tasks: number) => this.#shedding.arrived(tasks),
      nameIfUnknown: (owner: Address, worker: Address) => this.#members.nameIfUnknown(owner, worker),
      freed: (worker: Address) => this.#members.workers.freed(worker),
      preempts: (job: BookedJob, worker: Address) => {
        const name = this.#members.registry.workers.get(worker)?.name ?? '';
        env.eventOccurred?.({ kind: 'task-preempted', job: job.name, worker: name });
      },
    };
    this.#dispatcher = new Dispatcher(env, centralPolicy, timings, host, policy.preset.declares);
    if (config.users !== undefined) this.#grant(config.users);
    this.#members = new Membership(
      env,
      this.#counters,
      this.#dispatcher,
      this.#cutoff,
      config.expectedSchedulers,
    );
    this.#duplicates = new DuplicateCentrals(env, this.#members.registry, config);
    this.#occupied = new OccupiedPublisher(
      env,
      this.#members.registry,
      this.#dispatcher.books,
      config.settings,
    );
    this.#outlook = new Outlook(config, env, this.#members.registry, (to, request, end) =>
      this.#answer(to, request, 'plannedEnd', end),
    );
    const books = this.#pulls ? this.#dispatcher : undefined;
    this.#chronicle = new Chronicle(env, this.#members, this.#dispatcher, books);
  }

  // ---- inputs

  start(now: Millis): void {
    this.#duplicates.start(now);
    this.#members.start(now);
    // An earlier central may have started tasks, which their workers have not reported yet.
    this.#isUnsure = this.#config.users !== undefined && !this.#members.haveAllReported(now);
    if (this.#isUnsure) this.#dispatcher.setUnsure(true);
    this.#checkLoad(now);
    this.#outlook.start(now);
    this.#chronicle.start(now);
  }

  receive(from: Address, message: Message, now: Millis): void {
    if (MEMBERS_ONLY.has(message.type) && this.#isUnregistered(from)) return;
    switch (message.type) {
      case 'pull':
        this.#dispatcher.pulled(from, message, now);
        return this.#occupied.publishSoon(now);
      case 'need':
        this.#dispatcher.needed(from, message, now);
        return this.#occupied.publishSoon(now);
      case 'unused':
        return this.#dispatcher.unused(from, message, now);
      case 'heartbeat':
        return this.#heartbeat(from, message, now);
      case 'placementStarted':
        if (this.#dispatcher.placementStarted(from, message, now)) this.#askToRegister(from);
        return;
      case 'placementEnded':
        this.#dispatcher.placementEnded(from, message, now);
        return this.#members.workers.relabel(now);
      case 'place':
        return this.#dispatcher.place(from, message, now);
      case 'withdraw':
        return this.#dispatcher.withdraw(from, message.job, now);
      case 'register':
        return this.#register(from, message, now);
      case 'enlist':
        this.#members.schedulers.enlist(from, message, now);
        this.#sendLimitsIfAny(from);
        return this.#occupied.schedulerJoined(now);
      case 'leave':
        return this.#members.left(from, now);
      case 'holdings':
        return this.#recordHoldings(from, message);
      case 'notices':
        return this.#storeNotices(from, message);
      case 'drained':
        this.#dispatcher.drained(from, now);
        return this.#members.workers.drained(from);
      case 'quarantine':
        return this.#members.workers.quarantine(from, message.reason, now);
      case 'usage':
        return this.#recordUsage(from, message, now);
      case 'outlined':
        return this.#outlook.outlined(from, message, now);
      case 'counted':
        return this.#chronicle.counted(from, message, now);
      case 'resync':
        return this.#members.resync(from, now);
      case 'seekOwner':
        return this.#env.send(from, {
          type: 'ownerIs',
          ...this.#members.schedulers.ownerOf(message.tag, now),
        });
      case 'claim':
        return this.#duplicates.claimReceived(from, message, now);
      case 'findSchedulers':
        return this.#answer(from, message.request, 'schedulers', this.#members.schedulers.list(now));
      case 'describeCluster':
        return this.#describeCluster(from, message.request);
      case 'listWorkers':
        return this.#listWorkers(from, message, now);
      case 'drainWorker':
        return this.#members.workers.drain(from, message, now);
      case 'journals':
        return this.#members.schedulers.updateJournals(from, message, now);
      case 'remember':
        return this.#members.restoreMembers(from, message, now);
      case 'takeOverFrom':
        return this.#members.schedulers.takeOver(from, message, now);
      case 'readCounters':
        return this.#answer(from, message.request, 'counters', this.#counterValues());
      case 'explainLine':
        return this.#explain(from, message, undefined, now);
      case 'planEnd':
        return this.#planEnd(from, message, now);
      case 'explainNeed':
        return this.#explainNeed(from, message, now);
      case 'readEvents':
        return this.#answer(from, message.request, 'eventPage', this.#eventPage(message));
      case 'readHistory':
        return this.#answer(from, message.request, 'historyPage', this.#historyPage(message.after));
      case 'describeShares':
        return this.#answer(from, message.request, 'shares', this.#dispatcher.shares());
      default:
        // The message is for another role.
        return;
    }
  }

  wake(timer: CentralTimer, _key: number, now: Millis): void {
    switch (timer) {
      case 'lease':
        if (this.#isUnsure && this.#members.haveAllReported(now)) {
          this.#isUnsure = false;
          this.#dispatcher.setUnsure(false);
        }
        return this.#members.endLeases(now);
      case 'publish':
        return this.#members.publish(now);
      case 'plan':
        return this.#dispatcher.wake();
      case 'occupied':
        return this.#occupied.publish();
      case 'relief':
        return this.#checkLoad(now);
      case 'outlook':
        return this.#outlook.wake(now);
      case 'chronicle':
        return this.#chronicle.wake(now);
    }
  }

  disconnected(from: Address, now: Millis): void {
    this.#members.disconnected(from, now);
  }

  /** Handles the solver's answer. */
  solved(id: number, answer: SolverAnswer, _now: Millis): void {
    this.#dispatcher.solved(id, answer);
  }

  /** Handles a forecast of the driver. */
  foreseen(forecast: Forecast, now: Millis): void {
    this.#outlook.foreseen(forecast, now);
  }

  /** Adds what the driver found out about a lost worker to the cause that `goshawk workers` shows. */
  explainLoss(worker: string, address: string, why: string): void {
    this.#members.workers.explainLoss(worker, address, why);
  }

  /** Applies the grants of users after the operator changed them. */
  grant(grants: UserGrants): void {
    this.#wereLimited ||= this.#holdings.isLimited;
    this.#grant(grants);
    if (this.#wereLimited || this.#holdings.isLimited)
      for (const scheduler of this.#members.registry.schedulers.members.keys()) this.#sendLimits(scheduler);
  }

  /** Stages that could start but that the policy has left waiting; for checks. */
  startable(now: Millis): StageView[] {
    return this.#dispatcher.startable(now);
  }

  settle(now: Millis): void {
    this.#dispatcher.settle(now);
  }

  /** Contacts these addresses of this cluster, at which another central may run; see `DuplicateCentrals`. */
  lookForOthers(places: readonly Address[], now: Millis): void {
    this.#duplicates.announce(places, now);
  }

  checkInvariants(): void {
    this.#dispatcher.checkInvariants();
    this.#members.checkInvariants();
  }

  // ---- status

  get counters(): CentralCounters {
    return { ...this.#counters, tasksPlaced: this.#dispatcher.tasksPlaced };
  }

  /** Number of tasks that wait here for a worker. */
  get pendingTasks(): number {
    return this.#dispatcher.waitingTasks;
  }

  /** Returns a snapshot for metrics. It takes time in proportion to the number of workers. */
  status(now: Millis): CentralStatus {
    const missing = this.#members.schedulers.expected.missing(now);
    const { members, away } = this.#members.registry.schedulers;
    const shared = away.filter(({ epoch }) => epoch > 0).length;
    return {
      workers: countWorkers(this.#members.registry.workers.values()),
      lostWorkers: this.#members.workers.lostCount(now),
      schedulers: members.size,
      schedulersAway: away.length,
      schedulersMissing: missing.length,
      unownedJournals: shared + missing.filter((each) => each.shared).length,
      placedTasks: this.placedTasks,
      pendingTasks: this.#dispatcher.pendingTasks,
      unmatchedTasks: this.#dispatcher.unmatched,
      matches: this.#dispatcher.matches,
      isMatching: this.#isMatching,
    };
  }

  /** HTTP addresses of all processes. */
  get scrapeTargets(): readonly ScrapeTarget[] {
    return scrapeTargetsOf(this.#members.registry);
  }

  /** Number of slots reserved for matches in flight. */
  get openMatches(): number {
    return this.#dispatcher.unconfirmedMatches;
  }

  /** Number of placed tasks whose end was not reported. */
  get placedTasks(): number {
    return this.#dispatcher.placedTasks;
  }

  #counterValues(): Counters {
    const { matches } = this.#dispatcher;
    const { pendingTasks: pending } = this;
    return {
      ...this.counters,
      pending,
      matches,
      planning: this.planning,
      ...this.#env.counted?.(),
    } as Counters;
  }

  /** Statistics of planning, by name. */
  get planning(): Readonly<Record<string, number>> {
    return this.#dispatcher.planning;
  }

  // ---- answers to clients

  #describeCluster(from: Address, request: number): void {
    this.#answer(from, request, 'cluster', {
      name: this.#config.name,
      settings: this.#cutoff.settings,
      pendingTasks: this.pendingTasks,
      workers: this.#members.registry.workers.size,
    });
  }

  #listWorkers(from: Address, message: MessageOf<'listWorkers'>, now: Millis): void {
    const loadOf = (worker: Address) => (this.#pulls ? this.#dispatcher.loadAt(worker) : undefined);
    this.#answer(from, message.request, 'workerPage', this.#members.workers.page(message.from, loadOf, now));
  }

  #eventPage({ after, since }: MessageOf<'readEvents'>): EventPage {
    const none = { events: [], next: after, atEnd: true, since: 0 };
    return this.#env.events?.(after, since) ?? none;
  }

  #historyPage(after: number): HistoryPage {
    return this.#env.history?.(after) ?? { points: [], rosters: [], atEnd: true };
  }

  #explainNeed(from: Address, message: MessageOf<'explainNeed'>, now: Millis): void {
    const owner = this.#members.schedulers.addressOf(message.owner);
    const job = owner === undefined ? undefined : this.#dispatcher.books.job(owner, message.job);
    const only = ownerFor(this.#env.clientKeyOf?.(from), message.type);
    const isForeign = only !== undefined && job !== undefined && job.user !== '' && job.user !== only;
    this.#explain(from, message, isForeign ? undefined : job, now);
  }

  /** @param job the requested job; undefined if none was, or if it belongs to another user */
  #explain(
    from: Address,
    { type, request }: MessageOf<'explainLine' | 'explainNeed'>,
    job: BookedJob | undefined,
    now: Millis,
  ): void {
    const line = this.#pulls
      ? this.#dispatcher.line(job, now)
      : lineOfQueues(this.#members.registry.workers.values(), this.pendingTasks);
    const onlyOwn = ownerFor(this.#env.clientKeyOf?.(from), type) !== undefined;
    const visible = onlyOwn ? { ...line, limited: undefined, onlyOwn } : line;
    this.#answer(from, request, 'centralLine', visible);
  }

  #planEnd(from: Address, message: MessageOf<'planEnd'>, now: Millis): void {
    const key = this.#env.clientKeyOf?.(from);
    const user = ownerFor(key, message.type) ?? message.outline.user;
    const outline = { ...message.outline, user };
    this.#outlook.planEnd(from, key?.name ?? `${from}`, { ...message, outline }, now);
  }

  // ---- members

  #register(from: Address, message: MessageOf<'register'>, now: Millis): void {
    if (!this.#members.workers.register(from, message, now)) return;
    this.#dispatcher.addReported(from, message.runs, now);
    this.#members.workers.registered(from, now);
  }

  #heartbeat(from: Address, message: MessageOf<'heartbeat'>, now: Millis): void {
    const { busy, queued } = message;
    if (this.#members.heartbeat(from, message, now) !== undefined) {
      if (busy === 0) {
        this.#dispatcher.idle(from, queued, now);
        this.#members.workers.relabel(now);
      }
      // The welcome makes the worker report its free slots and its runs.
      const asksForState = this.#pulls && (this.#isMatching || this.#dispatcher.waitingTasks > 0);
      const isStale = asksForState && this.#dispatcher.isStale(from, busy, now);
      if (this.#dispatcher.checkLoans(from, now) || isStale) this.#members.welcome(from);
      // Central adds the runs that the registration lists, and ends the placed tasks that it does not list.
      if (this.#dispatcher.areBooksOutdated(from, busy + queued, now)) return this.#askToRegister(from);
    }
    if (this.#isUnregistered(from)) return;
    this.#members.acknowledge(from, this.#isMatching);
    this.#sendLimitsIfAny(from);
  }

  #recordUsage(from: Address, message: MessageOf<'usage'>, now: Millis): void {
    // If run times are unknown at arrival, the run times that workers report size the reserve instead.
    if (this.#config.settings.policy.estimator === 'given') this.#dispatcher.shortArrived(message.arrivedMs);
    this.#shedding.arrived(message.arrivedTasks);
    this.#learnCutoff(from, message);
    this.#members.workers.recordWork(message, now);
  }

  #storeNotices(from: Address, { notices }: MessageOf<'notices'>): void {
    const scheduler = this.#members.registry.schedulers.members.get(from);
    if (scheduler === undefined) return;
    for (const { number, at, kind, text } of notices) {
      if (number <= scheduler.lastNotice) continue;
      scheduler.lastNotice = number;
      this.#env.noticeReceived?.({ kind, scheduler: scheduler.name, text, at });
    }
    this.#env.send(from, { type: 'noticesStored', number: scheduler.lastNotice });
  }

  #recordHoldings(from: Address, { users }: MessageOf<'holdings'>): void {
    const tag = this.#members.registry.schedulers.members.get(from)?.tag;
    if (tag !== undefined) this.#holdings.update(tag, users);
  }

  #learnCutoff(from: Address, { completed }: MessageOf<'usage'>): void {
    if (!this.#cutoff.isLearned || completed.length === 0) return;
    const fromMs = this.#cutoff.settings.policy.cutoffMs;
    // The welcome with the present cutoff may have been lost.
    if (!this.#cutoff.completed(completed)) return this.#members.welcome(from);
    const toMs = this.#cutoff.settings.policy.cutoffMs;
    this.#env.eventOccurred?.({ kind: 'cutoff-changed', fromMs, toMs });
    this.#members.welcomeAll();
  }

  /** Checks for overload. Heartbeat acknowledgments report whether central matches short jobs. */
  #checkLoad(now: Millis): void {
    const { policy, timings } = this.#config.settings;
    const { short, byClass } = policy.preset;
    const mayGiveUp = policy.matching === 'auto' && short.by === 'matching' && byClass;
    if (!mayGiveUp || timings.heartbeatMs === 0 || this.#env.busyMs === undefined) return;
    this.#shedding.check(this.#env.busyMs(), now);
    this.#env.setTimer('relief', 0, now + CHECK_INTERVAL_MS);
  }

  #grant(grants: UserGrants): void {
    this.#dispatcher.grant(grants);
    this.#holdings.grant(grants);
  }

  #sendLimitsIfAny(to: Address): void {
    if (this.#holdings.isLimited || this.#wereLimited) this.#sendLimits(to);
  }

  #sendLimits(to: Address): void {
    const { schedulers } = this.#members.registry;
    const tag = schedulers.members.get(to)?.tag;
    if (tag === undefined) return;
    const hasJobs = (each: string): boolean => schedulers.byTag(each) !== undefined;
    this.#env.send(to, this.#holdings.limitsFor(tag, hasJobs));
  }

  /** Central matches short jobs if it is not overloaded, or if limits on running tasks require it. */
  get #isMatching(): boolean {
    return this.#shedding.isMatching || this.#dispatcher.hasLimits;
  }

  /** Whether the sender is no member. If so, asks it to register. */
  #isUnregistered(from: Address): boolean {
    if (this.#members.has(from)) return false;
    this.#askToRegister(from);
    return true;
  }

  #askToRegister(party: Address): void {
    this.#env.send(party, { type: 'notRegistered' });
  }

  #answer<A extends AnswerType>(to: Address, request: number, type: A, value: AnswerValue<A>): void {
    this.#env.send(to, { type, request, value } as Message);
  }
}

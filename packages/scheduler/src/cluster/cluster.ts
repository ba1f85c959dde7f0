import {
  type Address,
  type ClusterSettings,
  invariant,
  LIMITS,
  type MessageOf,
  type Millis,
  NOBODY,
  type PolicySettings,
  present,
  RELIABLE_TIMINGS,
  SILENT_HEARTBEATS,
  type Timings,
} from '@goshawk/core';
import type { SchedulerConfig, SchedulerEnvironment } from '../contract.js';
import { Members } from './members.js';

/**
 * A scheduler's membership in the cluster. The scheduler enlists with central, receives settings and workers,
 * and renews its lease. It enlists again if central does not know it or is silent. Without central it uses
 * its last data.
 */
export class Cluster {
  readonly members = new Members();
  readonly #config: SchedulerConfig;
  readonly #env: SchedulerEnvironment;
  #central: Address = NOBODY;
  #settings: ClusterSettings | undefined;
  #lastSeenAt: Millis = 0;
  /** When the next heartbeat is due; much later, this process has been suspended. */
  #heartbeatDueAt: Millis = Number.POSITIVE_INFINITY;
  /** When messages could last be read before the last suspension, and when all that arrived during it have been read. */
  #unread: { readonly since: Millis; readonly until: Millis } | undefined;
  /** When this process last continued after a suspension for which central may have given it up. */
  #resumedAt: Millis = Number.NEGATIVE_INFINITY;
  #hasEnlisted = false;
  #draining = false;
  /** Whether the connection to central broke after the last welcome. */
  #isDisconnected = false;
  /** When the current central welcomed this scheduler. */
  #welcomedAt: Millis = 0;
  /** Whether central sheds short jobs at present. */
  #isShedding = false;
  #isCentralIdle = false;
  /** Schedulers stored for the next central, which starts without a list of members. */
  #formerSchedulers: MessageOf<'remember'>['schedulers'] = [];
  /** Journals in the shared database, as last read. */
  #journals: MessageOf<'journals'>['journals'] | undefined;

  constructor(config: SchedulerConfig, env: SchedulerEnvironment) {
    this.#config = config;
    this.#env = env;
  }

  /** NOBODY while not enlisted. */
  get central(): Address {
    return this.#central;
  }

  /** Whether central has welcomed this scheduler at least once, so that it can accept jobs. */
  get isReady(): boolean {
    return this.#settings !== undefined;
  }

  /** The policy of the cluster; undefined before central's first welcome. */
  get policy(): PolicySettings | undefined {
    return this.#settings?.policy;
  }

  /** The policy of the cluster, for code that runs only after central's first welcome. */
  get joinedPolicy(): PolicySettings {
    const { policy } = this;
    invariant(policy !== undefined, 'the policy is used before the scheduler has joined a cluster');
    return policy;
  }

  get timings(): Timings {
    return this.#settings?.timings ?? RELIABLE_TIMINGS;
  }

  /** Whether the sender is a previous central, whose decisions no longer count. */
  isFormerCentral(from: Address): boolean {
    return this.#central !== NOBODY && from !== this.#central;
  }

  /** The name of a worker, including lost ones. */
  nameOf(worker: Address): string {
    return this.members.nameOf(worker) ?? this.#env.nameOf(worker);
  }

  enlist(now: Millis): void {
    this.#hasEnlisted = true;
    this.#sendEnlist();
    this.#scheduleRetry(now);
  }

  /** Enlists again, because the last attempt was not answered. */
  #retryEnlist(now: Millis): void {
    if (!this.#env.holdsBack?.(this.#config.central)) this.#sendEnlist();
    this.#scheduleRetry(now);
  }

  #scheduleRetry(now: Millis): void {
    const { enlistRetryMs } = this.#config;
    if (enlistRetryMs > 0) this.#env.setTimer('heartbeat', 0, now + enlistRetryMs);
  }

  #sendEnlist(durable = this.#env.record !== undefined): void {
    const { name, tag, endpoint, http, epoch = 0, adopted = false, inheritance, lineage } = this.#config;
    const previousIncarnations = inheritance?.previousIncarnations ?? [];
    const usesConfigured = this.#central === NOBODY || this.#isDisconnected;
    const to = usesConfigured ? this.#config.central : this.#central;
    const draining = this.#draining;
    const identity = { name, tag, endpoint, http, epoch, adopted, previousIncarnations };
    this.#env.send(to, { type: 'enlist', ...identity, durable, draining, ...present({ lineage }) });
  }

  restartEnlisting(now: Millis): void {
    this.#central = NOBODY;
    this.#isDisconnected = false;
    this.members.centralChanged();
    this.#retryEnlist(now);
  }

  /** @returns whether this is a different central than before */
  welcomed(from: Address, { settings }: MessageOf<'welcome'>, now: Millis): boolean {
    const isNew = this.#central !== from;
    if (isNew && this.#central !== NOBODY) this.members.centralChanged();
    this.#noteSuspension(now);
    this.#central = from;
    this.#isDisconnected = false;
    this.#settings = settings;
    this.#env.admitted?.();
    this.#lastSeenAt = now;
    if (isNew) {
      this.#welcomedAt = now;
      this.#isShedding = false;
    }
    if (settings.timings.heartbeatMs > 0) this.#scheduleHeartbeat(now);
    else this.#env.clearTimer('heartbeat', 0);
    if (isNew && this.#formerSchedulers.length > 0)
      this.#env.send(from, { type: 'remember', schedulers: this.#formerSchedulers, workers: [] });
    if (isNew) this.#reportJournals();
    return isNew;
  }

  setJournals(journals: MessageOf<'journals'>['journals']): void {
    this.#journals = journals.slice(0, LIMITS.membersMax);
    this.#reportJournals();
  }

  #reportJournals(): void {
    if (this.#journals === undefined || this.#central === NOBODY) return;
    this.#env.send(this.#central, { type: 'journals', journals: this.#journals });
  }

  setFormerSchedulers(from: Address, { schedulers }: MessageOf<'remember'>): void {
    if (from === this.#central) this.#formerSchedulers = schedulers;
  }

  /** Whether the list of workers may be incomplete because central or this scheduler has just started. */
  mayMissWorkers(now: Millis): boolean {
    return now - this.#welcomedAt < this.timings.leaseMs;
  }

  /** Whether the connection to central broke after its last welcome. */
  get isDisconnected(): boolean {
    return this.#isDisconnected;
  }

  /**
   * Records that the connection to a party broke. Only a welcome ends this state, because earlier messages of
   * central may still arrive.
   *
   * @returns whether the party is central and its disconnection is new
   */
  disconnected(from: Address, now: Millis): boolean {
    if (from !== this.#central || this.#central === NOBODY || this.#isDisconnected) return false;
    this.#isDisconnected = true;
    this.enlist(now);
    return true;
  }

  notRegistered(from: Address, now: Millis): void {
    if (from === this.#central) this.restartEnlisting(now);
  }

  /**
   * Whether central is disconnected or has not answered several heartbeats. Short jobs then do not wait for
   * it. It remains central until its lease ends, because it may only be slow.
   */
  isSilent(now: Millis): boolean {
    if (this.#central === NOBODY || this.#isDisconnected) return true;
    const { heartbeatMs } = this.timings;
    const silentMs = now - this.#lastSeenAt - this.#suspendedMs(now);
    return heartbeatMs > 0 && silentMs > SILENT_HEARTBEATS * heartbeatMs;
  }

  /** Time for which this process has not run, so that messages of central may wait to be read; 0 if it was short. */
  #suspendedMs(now: Millis): Millis {
    const lateMs = now - this.#heartbeatDueAt;
    return lateMs > this.timings.heartbeatMs ? lateMs : 0;
  }

  /** Returns whether the suspension took more than half a lease, after which central doubts its own leases. */
  #wasLongSuspended(now: Millis): boolean {
    return this.#suspendedMs(now) > this.timings.leaseMs / 2;
  }

  /** Records a long suspension. The next heartbeat shows it, so each change of that time must follow. */
  #noteSuspension(now: Millis): void {
    const since = this.unreadSince(now);
    if (this.#suspendedMs(now) > 0) this.#unread = { since, until: now + this.timings.heartbeatMs };
    if (this.#wasLongSuspended(now)) this.#resumedAt = now;
  }

  /** Returns since when messages that arrive now may have waited because this process was suspended; `now`: they have not. */
  unreadSince(now: Millis): Millis {
    if (this.#suspendedMs(now) > 0) return this.#heartbeatDueAt - this.timings.heartbeatMs;
    return this.#unread !== undefined && now < this.#unread.until ? this.#unread.since : now;
  }

  /**
   * Whether requests may arrive that were sent before or during a suspension for which central may have given this scheduler
   * up, so that their clients have asked another one. One heartbeat after it, all of them have been read.
   */
  mayReadStaleRequests(now: Millis): boolean {
    return this.#wasLongSuspended(now) || now - this.#resumedAt < this.timings.heartbeatMs;
  }

  /**
   * Marks a worker as unoccupied while central is silent and publishes no bitmap. No long task starts
   * meanwhile.
   */
  slotIsFree(worker: Address, now: Millis): void {
    if (this.isSilent(now)) this.members.setUnoccupied(worker);
  }

  /** Whether central is overloaded and sheds short jobs, which then do not wait for it. */
  get isShedding(): boolean {
    return this.#isShedding;
  }

  centralResponded(now: Millis): void {
    this.#lastSeenAt = now;
  }

  /** Whether no task was left waiting at central when it last matched a job of this scheduler. */
  get isCentralIdle(): boolean {
    return this.#isCentralIdle;
  }

  /** Records that central has matched a job of this scheduler. */
  matched({ noneWaiting, newcomers = [] }: MessageOf<'matched'>, now: Millis): void {
    this.centralResponded(now);
    this.#isCentralIdle = noneWaiting === true;
    for (const { worker, name } of newcomers) this.members.setName(worker, name);
  }

  /**
   * @param ownersVersion known version of the list of schedulers
   * @returns whether central has started or stopped matching short jobs
   */
  acknowledged(
    from: Address,
    message: MessageOf<'heartbeatAck'>,
    ownersVersion: number,
    now: Millis,
  ): boolean {
    if (from !== this.#central) return false;
    this.#lastSeenAt = now;
    const isCurrent = message.version === this.members.version && message.ownersVersion === ownersVersion;
    if (!isCurrent) this.#env.send(from, { type: 'resync' });
    const hasChanged = this.#isShedding === message.matching;
    this.#isShedding = !message.matching;
    return hasChanged;
  }

  heartbeat(activeJobs: number, waitingTasks: () => number, now: Millis): void {
    const { heartbeatMs, leaseMs } = this.timings;
    this.#lastSeenAt += this.#suspendedMs(now);
    this.#noteSuspension(now);
    this.#heartbeatDueAt = Number.POSITIVE_INFINITY;
    if (this.#central === NOBODY) return this.#retryEnlist(now);
    if (leaseMs > 0 && now - this.#lastSeenAt > leaseMs) return this.restartEnlisting(now);
    if (this.#isDisconnected) return this.#retryEnlist(now);
    this.#env.send(this.#central, {
      type: 'heartbeat',
      busy: activeJobs,
      queued: waitingTasks(),
      used: undefined,
      clock: now + this.#config.wallOffsetMs,
    });
    if (heartbeatMs > 0) this.#scheduleHeartbeat(now);
  }

  #scheduleHeartbeat(now: Millis): void {
    this.#heartbeatDueAt = now + this.timings.heartbeatMs;
    this.#env.setTimer('heartbeat', 0, this.#heartbeatDueAt);
  }

  /** Removes workers that have not registered with the current central within a lease. */
  dropMissingWorkers(): readonly Address[] {
    const { leaseMs } = this.timings;
    const isEarly = this.#central === NOBODY || this.#lastSeenAt - this.#welcomedAt <= leaseMs;
    const gone = isEarly ? [] : this.members.dropUnconfirmed(this.#lastSeenAt - leaseMs);
    if (gone.length > 0)
      this.#env.send(this.#central, {
        type: 'remember',
        schedulers: [],
        workers: gone.map((each) => this.nameOf(each)),
      });
    return gone;
  }

  get isDraining(): boolean {
    return this.#draining;
  }

  /** Stops accepting jobs, and notifies central. */
  drain(): void {
    this.#draining = true;
    if (this.#hasEnlisted) this.#sendEnlist();
  }

  /** Leaves permanently. No jobs are left, so central need not wait for a return or request a takeover. */
  retire(): void {
    this.#sendEnlist(false);
    this.leave();
  }

  /** Notifies the cluster, so that no process has to wait for the lease to expire. */
  leave(): void {
    if (this.#central !== NOBODY) this.#env.send(this.#central, { type: 'leave' });
  }
}

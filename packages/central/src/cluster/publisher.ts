import {
  type Address,
  type ClusterSettings,
  type Environment,
  type MessageOf,
  type Millis,
  maySeek,
  type Timings,
} from '@goshawk/core';
import { memberOf, type Registry, type WorkerRecord } from './registry.js';

/** With up to this many parties, the pause between updates is the shortest; with more, it grows in proportion. */
const PARTIES_PER_PAUSE = 500;
/**
 * Maximum pause as a fraction of the heartbeat interval. `isUpdateDue` withholds acknowledgments during the pause, and a
 * party that receives none for SILENT_HEARTBEATS (1.5) intervals works without central.
 */
const PAUSE_MAX_SHARE = 0.4;

/** Maximum number of lost schedulers that a complete list names. */
const LOST_SCHEDULERS_MAX = 1_000;

const NO_VICTIMS: Pick<MessageOf<'peers'>, 'joined' | 'left'> = { joined: [], left: [] };

/**
 * Publishes the membership to workers and schedulers. An update contains all changes since the last version.
 * A new party, or one that missed an update, gets the complete list.
 */
export class Publisher {
  readonly #env: Environment<'publish'>;
  readonly #registry: Registry;
  /** Whether workers receive the list of schedulers, from which they may request tasks. */
  readonly #publishesOwners: boolean;
  /** Whether workers receive the list of workers. Only stealing needs the list, which may be very long. */
  readonly #publishesVictims: boolean;
  /** Version of the worker list for schedulers. */
  #version = 1;
  /** Version of the list for workers (victims, schedulers). Most changes do not concern workers. */
  #peersVersion = 1;
  readonly #changed = new Set<Address>();
  /** Workers that are gone, and when they last sent a message. */
  readonly #left = new Map<Address, Millis>();
  readonly #ownersLost = new Set<Address>();
  /** Recently lost schedulers. Complete lists name them for workers that missed the update. */
  readonly #lostBefore = new Set<Address>();
  readonly #owners = new Set<Address>();
  /** New schedulers whose names no other scheduler has received yet. */
  readonly #unnotified = new Set<Address>();
  readonly #ownersAway = new Set<Address>();
  /** Whether the set of schedulers, including disconnected ones, has changed. */
  #haveOwnersChanged = false;
  #ownersVersion = 0;
  readonly #newcomers = new Set<Address>();
  readonly #timings: Timings;
  /** Returns the schedulers whose names other schedulers store for the next central. */
  readonly #remembered: () => MessageOf<'remember'>['schedulers'];
  #armed = false;
  /** Whether schedulers have received names to store. */
  #hasRemembered = false;

  constructor(
    env: Environment<'publish'>,
    registry: Registry,
    { policy, timings }: ClusterSettings,
    remembered: () => MessageOf<'remember'>['schedulers'],
  ) {
    this.#remembered = remembered;
    this.#env = env;
    this.#registry = registry;
    this.#publishesOwners = maySeek(policy.preset);
    this.#publishesVictims = policy.preset.stealing;
    this.#timings = timings;
  }

  /** Returns the version of the list that this kind of party receives. */
  versionFor(party: Address): number {
    return this.#registry.workers.has(party) ? this.#peersVersion : this.#version;
  }

  get ownersVersion(): number {
    return this.#ownersVersion;
  }

  /** Returns whether the scheduler's list lacks the worker or is outdated. */
  isOutdated(scheduler: Address, worker: Address): boolean {
    return this.#changed.has(worker) || this.#newcomers.has(scheduler);
  }

  /** Returns whether the next update goes to this party in any case. */
  isUpdateDue(party: Address): boolean {
    return (
      this.#newcomers.has(party) || (this.#haveOwnersChanged && this.#registry.schedulers.members.has(party))
    );
  }

  #hasChanges(): boolean {
    const ofOwners = this.#ownersLost.size + this.#owners.size + this.#ownersAway.size;
    return this.#changed.size + this.#left.size + ofOwners > 0;
  }

  /** Whether the list for workers has changed. */
  #hasPeerChanges(): boolean {
    const victims = this.#publishesVictims ? this.#changed.size + this.#left.size : 0;
    return victims + this.#ownersLost.size + this.#owners.size + this.#ownersAway.size > 0;
  }

  changed(worker: Address): void {
    this.#changed.add(worker);
  }

  /**
   * Records for the next update that a worker has left or is lost.
   *
   * @param lastSeenAt when it was last known to be connected
   */
  left(worker: Address, lastSeenAt: Millis): void {
    this.#changed.delete(worker);
    this.#newcomers.delete(worker);
    this.#left.set(worker, lastSeenAt);
  }

  ownerJoined(scheduler: Address): void {
    // A scheduler whose process did not exit returns with the same address.
    this.#ownersLost.delete(scheduler);
    this.#lostBefore.delete(scheduler);
    this.#ownersAway.delete(scheduler);
    if (this.#publishesOwners) this.#owners.add(scheduler);
  }

  /**
   * Records that a scheduler receives keys of others. Central lists it for clients once the others know it.
   */
  hideUntilNotified(scheduler: Address): void {
    this.#unnotified.add(scheduler);
  }

  /** Returns whether all other schedulers know this one, and thus no longer accept jobs with its keys. */
  hasNotified(scheduler: Address): boolean {
    return !this.#unnotified.has(scheduler);
  }

  ownerLost(scheduler: Address): void {
    this.#ownersAway.delete(scheduler);
    this.#newcomers.delete(scheduler);
    this.#owners.delete(scheduler);
    this.#unnotified.delete(scheduler);
    this.#ownersLost.add(scheduler);
    this.#lostBefore.add(scheduler);
    for (const oldest of this.#lostBefore) {
      if (this.#lostBefore.size <= LOST_SCHEDULERS_MAX) break;
      this.#lostBefore.delete(oldest);
    }
  }

  /** Marks the list of key owners as changed. */
  ownersChanged(): void {
    this.#haveOwnersChanged = true;
    this.#ownersVersion++;
  }

  /** Records that a scheduler is away. It may return as another incarnation and ask for its running tasks. */
  ownerAway(scheduler: Address): void {
    this.#newcomers.delete(scheduler);
    this.#owners.delete(scheduler);
    this.#unnotified.delete(scheduler);
    this.#ownersAway.add(scheduler);
  }

  addNewcomer(party: Address): void {
    this.#newcomers.add(party);
  }

  /** Schedules an update after a pause that collects further changes. */
  publishSoon(now: Millis): void {
    if (this.#armed) return;
    this.#armed = true;
    this.#env.setTimer('publish', 0, now + this.#pauseMs());
  }

  /**
   * Returns the pause between updates. Frequent updates would overload all parties while thousands of workers
   * join, as after a restart of central. Larger clusters therefore collect more changes per update.
   */
  #pauseMs(): Millis {
    const { publishMs, heartbeatMs } = this.#timings;
    const parties = this.#registry.workers.size + this.#registry.schedulers.members.size;
    const pauseMs = publishMs * Math.max(1, parties / PARTIES_PER_PAUSE);
    return heartbeatMs === 0
      ? pauseMs
      : Math.min(pauseMs, Math.max(publishMs, PAUSE_MAX_SHARE * heartbeatMs));
  }

  publish(now: Millis): void {
    this.#armed = false;
    const since = this.#version;
    const peersSince = this.#peersVersion;
    if (this.#hasChanges()) this.#version++;
    if (this.#hasPeerChanges()) this.#peersVersion++;
    const hasNewVersion = this.#version !== since;
    // Receivers do not modify messages, so receivers that know the same version share one.
    const members: Record<number, MessageOf<'members'>> = {};
    let schedulers: MessageOf<'remember'>['schedulers'] | undefined;
    for (const scheduler of this.#registry.schedulers.members.keys()) {
      const known = this.#newcomers.has(scheduler) ? 0 : since;
      const needsOwners = known === 0 || this.#haveOwnersChanged;
      if (needsOwners) {
        schedulers ??= this.#remembered();
        if (schedulers.length > 0 || this.#hasRemembered)
          this.#env.send(scheduler, { type: 'remember', schedulers, workers: [] });
      }
      if (!needsOwners && !hasNewVersion) continue;
      members[known] ??= this.#members(known, now);
      this.#env.send(scheduler, members[known]);
    }
    this.#hasRemembered ||= schedulers !== undefined && schedulers.length > 0;
    const peers: Record<number, MessageOf<'peers'>> = {};
    const isPeerNews = this.#peersVersion !== peersSince;
    for (const worker of isPeerNews ? this.#registry.workers.keys() : this.#newcomers) {
      if (!this.#registry.workers.has(worker)) continue;
      const known = this.#newcomers.has(worker) ? 0 : peersSince;
      peers[known] ??= this.#peers(known);
      this.#env.send(worker, peers[known]);
    }
    this.#changed.clear();
    this.#left.clear();
    this.#ownersLost.clear();
    this.#owners.clear();
    this.#unnotified.clear();
    this.#ownersAway.clear();
    this.#haveOwnersChanged = false;
    this.#newcomers.clear();
  }

  /**
   * Returns the list of workers for schedulers.
   *
   * @param since the version that they know; 0: none
   */
  #members(since: number, now: Millis): MessageOf<'members'> {
    const left = since === 0 ? [] : [...this.#left.keys()];
    const silentMs =
      left.length === 0
        ? undefined
        : left.map((worker) => Math.max(0, Math.round(now - this.#left.get(worker)!)));
    const changed = this.#workersSince(since).map(memberOf);
    return { type: 'members', version: this.#version, since, changed, left, ...this.#owningKeys(), silentMs };
  }

  /**
   * Returns the schedulers that own keys, which clients compute alike. A draining scheduler without a journal owns none,
   * nor does one that finishes the jobs of a lost scheduler.
   */
  #owningKeys(): Pick<MessageOf<'members'>, 'owners' | 'ownersVersion'> {
    const present = [...this.#registry.schedulers.members.values()].filter(
      ({ draining, durable, adopted }) => (!draining || durable) && !adopted,
    );
    const away = this.#registry.schedulers.away.filter(({ adopted }) => !adopted);
    const owners = [
      ...present.map(({ name }) => ({ name, away: false })),
      ...away.map(({ name }) => ({ name, away: true })),
    ];
    return { owners, ownersVersion: this.#ownersVersion };
  }

  /**
   * Returns the list of victims and schedulers for workers.
   *
   * @param since the version that they know; 0: none
   */
  #peers(since: number): MessageOf<'peers'> {
    const all = this.#publishesOwners ? this.#registry.schedulers.members.keys() : [];
    return {
      type: 'peers',
      version: this.#peersVersion,
      since,
      ...(this.#publishesVictims ? this.#victims(since) : NO_VICTIMS),
      ownersLost: [...(since === 0 ? this.#lostBefore : this.#ownersLost)],
      owners: [...(since === 0 ? all : this.#owners)],
      ownersAway: [...this.#ownersAway],
    };
  }

  #victims(since: number): Pick<MessageOf<'peers'>, 'joined' | 'left'> {
    const joined: Address[] = [];
    const left = since === 0 ? [] : [...this.#left.keys()];
    for (const { address, partition } of this.#workersSince(since)) {
      if (partition === 'general') joined.push(address);
      else if (since > 0) left.push(address);
    }
    return { joined, left };
  }

  #workersSince(since: number): WorkerRecord[] {
    if (since === 0) return [...this.#registry.workers.values()];
    return [...this.#changed].flatMap((address) => this.#registry.workers.get(address) ?? []);
  }
}

import {
  type Address,
  type ClusterSettings,
  invariant,
  type MessageOf,
  type Millis,
  NOBODY,
  type PolicySettings,
  RELIABLE_TIMINGS,
  SILENT_HEARTBEATS,
  type Timings,
} from '@goshawk/core';
import type { SchedulerConfig, SchedulerEnvironment } from '../contract.js';
import { Members } from './members.js';

/**
 * A scheduler's place in the cluster: it enlists with central until it is welcomed, gets the settings and the workers
 * there, renews its lease, and enlists anew when central has forgotten it or is silent. Without central it goes on
 * with what it knows.
 */
export class Cluster {
  readonly members = new Members();
  readonly #config: SchedulerConfig;
  readonly #env: SchedulerEnvironment;
  #central: Address = NOBODY;
  #settings: ClusterSettings | undefined;
  #heardAt: Millis = 0;
  #hasBegun = false;
  #draining = false;
  /** The connection to central broke, and it has not welcomed this scheduler since. */
  #isCutOff = false;
  /** When the present central has welcomed this scheduler. */
  #welcomedAt: Millis = 0;
  /** Central has said that it matches no short jobs at present. */
  #isRelieved = false;
  #isCalm = false;
  /** Schedulers that a central has told of: for the next one, which cannot know who was there. */
  #remembered: MessageOf<'remember'>['schedulers'] = [];

  constructor(config: SchedulerConfig, env: SchedulerEnvironment) {
    this.#config = config;
    this.#env = env;
  }

  /** NOBODY while it is not enlisted. */
  get central(): Address {
    return this.#central;
  }

  /** Central has welcomed this scheduler once: it can take jobs. */
  get isReady(): boolean {
    return this.#settings !== undefined;
  }

  /** The cluster's; there is none before central has welcomed this scheduler. */
  get policy(): PolicySettings {
    invariant(this.#settings !== undefined, 'a job arrived before the scheduler joined a cluster');
    return this.#settings.policy;
  }

  get timings(): Timings {
    return this.#settings?.timings ?? RELIABLE_TIMINGS;
  }

  /** When central was heard last, or another one before it. */
  get heardAt(): Millis {
    return this.#heardAt;
  }

  /** Another central has welcomed this scheduler: what the one before had decided counts no more. */
  isFormerCentral(from: Address): boolean {
    return this.#central !== NOBODY && from !== this.#central;
  }

  /** The name of a worker, also of one that is gone. */
  nameOf(worker: Address): string {
    return this.members.nameOf(worker) ?? this.#env.nameOf(worker);
  }

  enlist(now: Millis): void {
    this.#hasBegun = true;
    this.#introduce();
    this.#tryAgain(now);
  }

  /** Nobody has answered. */
  #enlistAgain(now: Millis): void {
    if (!this.#env.holdsBack?.(this.#config.central)) this.#introduce();
    this.#tryAgain(now);
  }

  #tryAgain(now: Millis): void {
    const { enlistRetryMs } = this.#config;
    if (enlistRetryMs > 0) this.#env.setTimer('heartbeat', 0, now + enlistRetryMs);
  }

  #introduce(durable = this.#env.record !== undefined): void {
    const { name, tag, endpoint, http, epoch = 0, adopted = false, inheritance } = this.#config;
    const previousIncarnations = inheritance?.previousIncarnations ?? [];
    const isAnybody = this.#central === NOBODY || this.#isCutOff;
    const to = isAnybody ? this.#config.central : this.#central;
    const draining = this.#draining;
    const place = { name, tag, endpoint, http, epoch, adopted, previousIncarnations };
    this.#env.send(to, { type: 'enlist', ...place, durable, draining });
  }

  enlistAnew(now: Millis): void {
    this.#central = NOBODY;
    this.#isCutOff = false;
    this.members.startAnew();
    this.#enlistAgain(now);
  }

  /** @returns whether this is another central than before */
  welcomed(from: Address, { settings }: MessageOf<'welcome'>, now: Millis): boolean {
    const isNew = this.#central !== from;
    if (isNew && this.#central !== NOBODY) this.members.startAnew();
    this.#central = from;
    this.#isCutOff = false;
    this.#settings = settings;
    this.#heardAt = now;
    if (isNew) {
      this.#welcomedAt = now;
      this.#isRelieved = false;
    }
    if (settings.timings.heartbeatMs > 0)
      this.#env.setTimer('heartbeat', 0, now + settings.timings.heartbeatMs);
    else this.#env.clearTimer('heartbeat', 0);
    if (isNew && this.#remembered.length > 0)
      this.#env.send(from, { type: 'remember', schedulers: this.#remembered, workers: [] });
    return isNew;
  }

  remember(from: Address, { schedulers }: MessageOf<'remember'>): void {
    if (from === this.#central) this.#remembered = schedulers;
  }

  /** Workers that there are may not have been told yet: central, or this scheduler, was just started. */
  isRosterYoung(now: Millis): boolean {
    return now - this.#welcomedAt < this.timings.leaseMs;
  }

  /** The connection to central is broken, or was, and it has not answered since. */
  get isCutOff(): boolean {
    return this.#isCutOff;
  }

  /**
   * The connection to a party broke. What central has sent before may still arrive, so only a welcome ends that, which
   * whoever is there next gives as soon as there is a connection again.
   *
   * @returns whether this is news, and of central
   */
  disconnected(from: Address, now: Millis): boolean {
    if (from !== this.#central || this.#central === NOBODY || this.#isCutOff) return false;
    this.#isCutOff = true;
    this.enlist(now);
    return true;
  }

  answeredUnregistered(from: Address, now: Millis): void {
    if (from === this.#central) this.enlistAnew(now);
  }

  /**
   * Central is cut off, or nothing was heard of it for some heartbeats: short jobs should not wait for it. It keeps its
   * place until its lease ends, since it may only be slow.
   */
  isSilent(now: Millis): boolean {
    if (this.#central === NOBODY || this.#isCutOff) return true;
    const { heartbeatMs } = this.timings;
    return heartbeatMs > 0 && now - this.#heardAt > SILENT_HEARTBEATS * heartbeatMs;
  }

  /** Nobody tells who is occupied while central is silent; and then nothing long is started, so that fewer and fewer are. */
  hasFreeSlot(worker: Address, now: Millis): void {
    if (this.isSilent(now)) this.members.setUnoccupied(worker);
  }

  /** Central is there, and has too much to do for matching short jobs: they should not wait for it either. */
  get isRelieved(): boolean {
    return this.#isRelieved;
  }

  heard(now: Millis): void {
    this.#heardAt = now;
  }

  /** Nothing waited at central when it last found a worker for a job here. */
  get isCalm(): boolean {
    return this.#isCalm;
  }

  /** Central has found workers for a job here. */
  matched({ calm, newcomers = [] }: MessageOf<'matched'>, now: Millis): void {
    this.heard(now);
    this.#isCalm = calm === true;
    for (const { worker, name } of newcomers) this.members.isCalled(worker, name);
  }

  /**
   * @param ownersVersion of the list of schedulers that is known here
   * @returns whether central matches short jobs again, or no more
   */
  acknowledged(
    from: Address,
    message: MessageOf<'heartbeatAck'>,
    ownersVersion: number,
    now: Millis,
  ): boolean {
    if (from !== this.#central) return false;
    this.#heardAt = now;
    const isCurrent = message.version === this.members.version && message.ownersVersion === ownersVersion;
    if (!isCurrent) this.#env.send(from, { type: 'resync' });
    const hasChanged = this.#isRelieved === message.matching;
    this.#isRelieved = !message.matching;
    return hasChanged;
  }

  beat(activeJobs: number, waitingTasks: () => number, now: Millis): void {
    const { heartbeatMs, leaseMs } = this.timings;
    if (this.#central === NOBODY) return this.#enlistAgain(now);
    if (leaseMs > 0 && now - this.#heardAt > leaseMs) return this.enlistAnew(now);
    if (this.#isCutOff) return this.#enlistAgain(now);
    this.#env.send(this.#central, { type: 'heartbeat', busy: activeJobs, queued: waitingTasks() });
    if (heartbeatMs > 0) this.#env.setTimer('heartbeat', 0, now + heartbeatMs);
  }

  /** Workers that have had a lease's time to come to the present central, while that was heard, and have not. */
  dropMissingWorkers(): readonly Address[] {
    const { leaseMs } = this.timings;
    const isEarly = this.#central === NOBODY || this.#heardAt - this.#welcomedAt <= leaseMs;
    const gone = isEarly ? [] : this.members.dropUnconfirmed(this.#heardAt - leaseMs);
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

  /** Takes no new jobs: central tells the others. */
  drain(): void {
    this.#draining = true;
    if (this.#hasBegun) this.#introduce();
  }

  /** Nothing is left that anybody could come back for: nobody is to wait, or to take over. */
  retire(): void {
    this.#introduce(false);
    this.leave();
  }

  /** Says goodbye, so that nobody has to wait for the lease to end. */
  leave(): void {
    if (this.#central !== NOBODY) this.#env.send(this.#central, { type: 'leave' });
  }
}

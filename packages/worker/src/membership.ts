import {
  type Address,
  type ClusterSettings,
  type MessageOf,
  type Millis,
  NOBODY,
  SILENT_HEARTBEATS,
} from '@goshawk/core';

/**
 * Offset of heartbeats within their interval, because other timers fire at multiples of theirs and must not coincide.
 */
const HEARTBEAT_PHASE = 0.25;

/** Returns when to send the next heartbeat: at the same time for all workers of a process, to share a frame. */
export function nextBeat(now: Millis, everyMs: Millis): Millis {
  return (Math.floor(now / everyMs - HEARTBEAT_PHASE) + 1 + HEARTBEAT_PHASE) * everyMs;
}

/**
 * A worker's view of the cluster: its central, the settings, the general workers, and the schedulers to ask for
 * tasks. It is soft state: central sends it again on request.
 */
export class Membership {
  /** The central that welcomed this worker; NOBODY if it is in no cluster. */
  central: Address = NOBODY;
  settings: ClusterSettings | undefined;
  #version = 0;
  #general: readonly Address[] = [];
  #schedulers: readonly Address[] = [];
  #lastSeenAt: Millis = 0;
  /** Whether the connection to central broke, and central has not welcomed this worker since. */
  #isCutOff = false;
  /** Whether central currently sheds short jobs. */
  isShedding = false;
  /** Whether central has not answered the last registration. */
  awaitsWelcome = false;
  /** When the next heartbeat is due. */
  heartbeatDueAt: Millis = Number.POSITIVE_INFINITY;

  get general(): readonly Address[] {
    return this.#general;
  }

  get schedulers(): readonly Address[] {
    return this.#schedulers;
  }

  get version(): number {
    return this.#version;
  }

  welcome(central: Address, settings: ClusterSettings, now: Millis): void {
    // Each central numbers its versions separately.
    if (this.central !== central) {
      this.#version = 0;
      this.isShedding = false;
    }
    this.central = central;
    this.#isCutOff = false;
    this.awaitsWelcome = false;
    this.settings = settings;
    this.#lastSeenAt = now;
  }

  seen(now: Millis): void {
    this.#lastSeenAt = now;
  }

  get isCutOff(): boolean {
    return this.#isCutOff;
  }

  /**
   * Records a broken connection to central. Only a welcome, which central sends after reconnecting, ends this state,
   * because earlier messages may still arrive.
   *
   * @returns whether the party is central and this was not known yet
   */
  disconnected(from: Address): boolean {
    if (from !== this.central || this.central === NOBODY || this.#isCutOff) return false;
    this.#isCutOff = true;
    return true;
  }

  /** Returns whether there is no central, it is disconnected, or it has not answered several heartbeats. */
  isUnresponsive(now: Millis): boolean {
    const heartbeatMs = this.settings?.timings.heartbeatMs ?? 0;
    if (heartbeatMs === 0) return false;
    return (
      this.central === NOBODY || this.#isCutOff || now - this.#lastSeenAt > SILENT_HEARTBEATS * heartbeatMs
    );
  }

  /** Returns whether central has been silent for longer than a lease. */
  isLeaseExpired(now: Millis): boolean {
    const leaseMs = this.settings?.timings.leaseMs ?? 0;
    return leaseMs > 0 && now - this.#lastSeenAt > leaseMs;
  }

  /**
   * Returns how long the process was suspended, if that exceeds half its lease and was not returned yet; otherwise 0.
   */
  gapMs(now: Millis): Millis {
    const leaseMs = this.settings?.timings.leaseMs ?? 0;
    const lateMs = now - this.heartbeatDueAt;
    if (leaseMs === 0 || lateMs <= leaseMs / 2) return 0;
    this.heartbeatDueAt = now;
    return lateMs;
  }

  forget(): void {
    this.central = NOBODY;
    this.#isCutOff = false;
    this.#version = 0;
  }

  /** Applies an update. Returns false if it is not based on the known version; the worker then requests a full list. */
  apply(message: MessageOf<'peers'>): boolean {
    if (message.version < this.#version) return true;
    if (message.since === 0) {
      // In the simulator the sender and other workers share this list, so it must not be modified.
      this.#general = message.joined;
      this.#schedulers = message.owners;
    } else {
      if (message.since !== this.#version) return message.version === this.#version;
      if (message.joined.length > 0 || message.left.length > 0) {
        const gone = new Set([...message.left, ...message.joined]);
        this.#general = [...this.#general.filter((peer) => !gone.has(peer)), ...message.joined];
      }
      if (message.owners.length + message.ownersLost.length + message.ownersAway.length > 0) {
        const gone = new Set([...message.ownersLost, ...message.ownersAway, ...message.owners]);
        this.#schedulers = [...this.#schedulers.filter((owner) => !gone.has(owner)), ...message.owners];
      }
    }
    this.#version = message.version;
    return true;
  }
}

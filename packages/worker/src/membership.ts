import {
  type Address,
  type ClusterSettings,
  type MessageOf,
  type Millis,
  NOBODY,
  SILENT_HEARTBEATS,
} from '@goshawk/core';

/** Fraction of a period: other timers fire at whole ones. */
const BEAT_PHASE = 0.25;

/** Workers of one process have one clock and beat at the same times: their heartbeats share a frame. */
export function nextBeat(now: Millis, everyMs: Millis): Millis {
  return (Math.floor(now / everyMs - BEAT_PHASE) + 1 + BEAT_PHASE) * everyMs;
}

/**
 * A worker's view of the cluster: its central, the settings from there, the general workers, and the
 * schedulers to ask for tasks. All of it is soft state that can be requested again.
 */
export class Membership {
  /** The central that welcomed this worker; NOBODY outside of a cluster. */
  central: Address = NOBODY;
  settings: ClusterSettings | undefined;
  #version = 0;
  #general: readonly Address[] = [];
  #schedulers: readonly Address[] = [];
  #heardAt: Millis = 0;
  /** The connection to central broke, and it has not welcomed this worker since. */
  #isCutOff = false;
  /** Central matches no short jobs at present. */
  isRelieved = false;
  /** When the next heartbeat is due. */
  beatDueAt: Millis = Number.POSITIVE_INFINITY;

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
    // Another central counts its versions anew.
    if (this.central !== central) {
      this.#version = 0;
      this.isRelieved = false;
    }
    this.central = central;
    this.#isCutOff = false;
    this.settings = settings;
    this.#heardAt = now;
  }

  heard(now: Millis): void {
    this.#heardAt = now;
  }

  get isCutOff(): boolean {
    return this.#isCutOff;
  }

  /**
   * The connection to a party broke. Earlier messages of central may still arrive, so only a welcome ends
   * this state, which the current central sends after reconnecting.
   * @returns whether this is news, and about central
   */
  disconnected(from: Address): boolean {
    if (from !== this.central || this.central === NOBODY || this.#isCutOff) return false;
    this.#isCutOff = true;
    return true;
  }

  /** Central is cut off, or nothing was heard of it for some heartbeats, or it is gone: work is to be found without it. */
  isQuiet(now: Millis): boolean {
    const heartbeatMs = this.settings?.timings.heartbeatMs ?? 0;
    if (heartbeatMs === 0) return false;
    return this.central === NOBODY || this.#isCutOff || now - this.#heardAt > SILENT_HEARTBEATS * heartbeatMs;
  }

  /** Central is silent for so long that its lease on this worker has ended, or it is gone. */
  isSilent(now: Millis): boolean {
    const leaseMs = this.settings?.timings.leaseMs ?? 0;
    return leaseMs > 0 && now - this.#heardAt > leaseMs;
  }

  /** For how long the process stood still, if that was longer than half its lease, and nobody has asked before; or 0. */
  gapMs(now: Millis): Millis {
    const leaseMs = this.settings?.timings.leaseMs ?? 0;
    const lateMs = now - this.beatDueAt;
    if (leaseMs === 0 || lateMs <= leaseMs / 2) return 0;
    this.beatDueAt = now;
    return lateMs;
  }

  forget(): void {
    this.central = NOBODY;
    this.#isCutOff = false;
    this.#version = 0;
  }

  /** @returns false when the change does not follow what is known here, so that all must be asked for again */
  apply(message: MessageOf<'peers'>): boolean {
    if (message.version < this.#version) return true;
    if (message.since === 0) {
      // Shared with the sender: never changed in place.
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

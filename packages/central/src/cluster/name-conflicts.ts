import { type Address, type Environment, type Millis, SILENT_HEARTBEATS } from '@goshawk/core';
import type { Leases } from './leases.js';

interface Holder {
  readonly address: Address;
  readonly lastSeenAt: Millis;
  /** When its connection last broke; undefined if it never did. */
  readonly brokeAt: Millis | undefined;
}

/**
 * Ensures that each name belongs to one party. A newcomer at the same endpoint is the restarted holder and
 * gets the name immediately. A newcomer elsewhere gets it only if the holder is silent or disconnected.
 * Otherwise two live parties with one name would evict each other forever.
 */
export class NameConflicts {
  readonly #env: Pick<Environment, 'send' | 'nameOf'>;
  readonly #leases: Leases;
  readonly #heartbeatMs: Millis;

  constructor(env: Pick<Environment, 'send' | 'nameOf'>, leases: Leases, heartbeatMs: Millis) {
    this.#env = env;
    this.#leases = leases;
    this.#heartbeatMs = heartbeatMs;
  }

  /**
   * Returns whether a newcomer's name, or the tag of its journal, is taken, and notifies the newcomer.
   *
   * @param holder the party that has the name or tag
   */
  refuses(newcomer: Address, holder: Holder, now: Millis, tag?: string): boolean {
    const holderName = this.#env.nameOf(holder.address);
    if (endpointOf(holderName) === endpointOf(this.#env.nameOf(newcomer))) return false;
    if (now - this.#leases.lastSeenAt(holder) > SILENT_HEARTBEATS * this.#heartbeatMs) return false;
    if (holder.brokeAt !== undefined && holder.brokeAt >= holder.lastSeenAt) return false;
    this.#env.send(newcomer, { type: 'nameTaken', holder: holderName, tag });
    return true;
  }
}

/** Returns the endpoint in a full name; the empty string if it contains none. */
function endpointOf(name: string): string {
  return name.slice(0, Math.max(0, name.lastIndexOf('!')));
}

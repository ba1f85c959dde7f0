import { type Address, type Environment, type Millis, SILENT_HEARTBEATS } from '@goshawk/core';
import type { Leases } from './leases.js';

interface Holder {
  readonly address: Address;
  readonly lastSeenAt: Millis;
  /** When its connection last broke; undefined: never. */
  readonly brokeAt: Millis | undefined;
}

/**
 * Ensures that each name has one party. A party at the endpoint of the holder is the holder after a restart. A party
 * elsewhere gets the name only once the holder is silent, because two live parties with one name would evict each
 * other forever.
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
   * Tells a newcomer if its name, or the tag of its journal, is taken.
   *
   * @param holder the party that has it
   */
  refuses(newcomer: Address, holder: Holder, now: Millis, tag?: string): boolean {
    const holderName = this.#env.nameOf(holder.address);
    if (placeOf(holderName) === placeOf(this.#env.nameOf(newcomer))) return false;
    if (now - this.#leases.lastSeenAt(holder) > SILENT_HEARTBEATS * this.#heartbeatMs) return false;
    if (holder.brokeAt !== undefined && holder.brokeAt >= holder.lastSeenAt) return false;
    this.#env.send(newcomer, { type: 'nameTaken', holder: holderName, tag });
    return true;
  }
}

/** Endpoint in a full name; equal for all parties without one. */
function placeOf(name: string): string {
  return name.slice(0, Math.max(0, name.lastIndexOf('!')));
}

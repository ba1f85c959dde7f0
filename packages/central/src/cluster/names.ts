import { type Address, type Environment, type Millis, SILENT_HEARTBEATS } from '@goshawk/core';
import type { Leases } from './leases.js';

interface Holder {
  readonly address: Address;
  readonly heardAt: Millis;
  /** When its connection broke last; undefined: never. */
  readonly brokeAt: Millis | undefined;
}

/**
 * One name, one party. Who comes to the place of the one that had its name is that one, started again. Who comes from
 * elsewhere is so too when nothing is heard of the other any more; as long as it is heard the name is taken, since two
 * that think they are one would throw each other out for ever.
 */
export class Names {
  readonly #env: Pick<Environment, 'send' | 'nameOf'>;
  readonly #leases: Leases;
  readonly #heartbeatMs: Millis;

  constructor(env: Pick<Environment, 'send' | 'nameOf'>, leases: Leases, heartbeatMs: Millis) {
    this.#env = env;
    this.#leases = leases;
    this.#heartbeatMs = heartbeatMs;
  }

  /**
   * Tells a newcomer when its name, or the tag of its journal, is taken.
   *
   * @param holder who has had it until now
   */
  refuses(newcomer: Address, holder: Holder, now: Millis, tag?: string): boolean {
    const holderName = this.#env.nameOf(holder.address);
    if (placeOf(holderName) === placeOf(this.#env.nameOf(newcomer))) return false;
    if (now - this.#leases.heardAt(holder) > SILENT_HEARTBEATS * this.#heartbeatMs) return false;
    if (holder.brokeAt !== undefined && holder.brokeAt >= holder.heardAt) return false;
    this.#env.send(newcomer, { type: 'nameTaken', holder: holderName, tag });
    return true;
  }
}

/** Place of a full name; the same for all parties without one. */
function placeOf(name: string): string {
  return name.slice(0, Math.max(0, name.lastIndexOf('!')));
}

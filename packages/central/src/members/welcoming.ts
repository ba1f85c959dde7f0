import type { Address, Millis } from '@goshawk/core';
import type { CentralState } from '../state.js';

/** Sends the settings to a party. */
export function welcome(s: CentralState, party: Address): void {
  s.env.send(party, { type: 'welcome', settings: s.cutoff.settings });
}

/** Sends the changed settings to all parties. */
export function welcomeAll(s: CentralState): void {
  for (const worker of s.registry.workers.keys()) welcome(s, worker);
  for (const scheduler of s.registry.schedulers.members.keys()) welcome(s, scheduler);
}

interface Holder {
  readonly address: Address;
  readonly lastSeenAt: Millis;
  /** When its connection last broke; undefined if it never did. */
  readonly brokeAt: Millis | undefined;
}

/**
 * Returns whether a newcomer's name, or the tag of its journal, is taken, and notifies the newcomer. A newcomer at the
 * same endpoint is the restarted holder and gets the name immediately. A newcomer elsewhere gets it only if the holder is
 * disconnected, or its lease has ended: silence proves no death, and two live parties with one name would evict each other forever.
 *
 * @param holder the party that has the name or tag
 */
export function refusesName(s: CentralState, newcomer: Address, holder: Holder, tag?: string): boolean {
  const holderName = s.env.nameOf(holder.address);
  if (endpointOf(holderName) === endpointOf(s.env.nameOf(newcomer))) return false;
  if (holder.brokeAt !== undefined && holder.brokeAt >= holder.lastSeenAt) return false;
  s.env.send(newcomer, { type: 'nameTaken', holder: holderName, tag });
  return true;
}

/** Returns the endpoint in a full name; the empty string if it contains none. */
function endpointOf(name: string): string {
  return name.slice(0, Math.max(0, name.lastIndexOf('!')));
}

import { type Address, InputError, type MessageOf, type Millis } from '@goshawk/core';
import type { CentralConfig, CentralEnvironment } from '../contract.js';
import type { Registry } from './registry.js';

/** Number of heartbeat intervals for which a central counts as new: live parties register within that time. */
const NEW_HEARTBEATS_MAX = 2;
/** Minimum interval between replies in ms, because a reply makes this central dial addresses that the sender chose. */
const ANSWER_INTERVAL_MIN_MS = 500;

type DuplicatesEnvironment = Pick<CentralEnvironment, 'send' | 'nameOf' | 'superseded' | 'contested'>;

/**
 * Ensures that a cluster has one central. Two may run behind one name, for example in a scaled-up service, so
 * that workers and schedulers connect to either. Each central contacts its own name and reports its number of
 * followers. A central that is new or has no followers exits if another has followers. A central that is no
 * longer new and has followers always stays.
 */
export class DuplicateCentrals {
  readonly #env: DuplicatesEnvironment;
  readonly #registry: Registry;
  readonly #config: CentralConfig;
  #startedAt: Millis = 0;
  #answeredAt: Millis = Number.NEGATIVE_INFINITY;

  constructor(env: DuplicatesEnvironment, registry: Registry, config: CentralConfig) {
    this.#env = env;
    this.#registry = registry;
    this.#config = config;
  }

  start(now: Millis): void {
    this.#startedAt = now;
  }

  /** Announces this central at these endpoints. Some may be its own. */
  announce(addresses: Iterable<Address>, now: Millis): void {
    const claim = { type: 'claim', ...this.#claim(now), at: this.#config.at ?? [] } as const;
    for (const address of addresses) this.#env.send(address, claim);
  }

  claimReceived(from: Address, { followers, isNew, at }: MessageOf<'claim'>, now: Millis): void {
    const { self } = this.#config;
    if (from === self) return;
    const other = { name: this.#env.nameOf(from), followers, isNew };
    const own = { name: this.#env.nameOf(self), ...this.#claim(now) };
    if (mustExit(own, other)) return this.#env.superseded?.(duplicateError(other));
    // The other central must exit. This reply goes to all of its addresses.
    if (mustExit(other, own)) return this.#answer([from, ...at], now);
    if (own.followers > 0 && followers > 0) this.#env.contested?.(other.name, followers);
  }

  #answer(addresses: readonly Address[], now: Millis): void {
    if (now - this.#answeredAt < ANSWER_INTERVAL_MIN_MS) return;
    this.#answeredAt = now;
    this.announce(addresses, now);
  }

  #claim(now: Millis): Pick<Claim, 'followers' | 'isNew'> {
    return { followers: this.#followers(now), isNew: this.#isNew(now) };
  }

  #isNew(now: Millis): boolean {
    return now - this.#startedAt < NEW_HEARTBEATS_MAX * this.#config.settings.timings.heartbeatMs;
  }

  /** Returns the number of parties that sent a message within a lease. */
  #followers(now: Millis): number {
    const since = now - this.#config.settings.timings.leaseMs;
    let followers = 0;
    for (const { lastSeenAt } of this.#registry.workers.values()) if (lastSeenAt >= since) followers++;
    for (const { lastSeenAt } of this.#registry.schedulers.members.values())
      if (lastSeenAt >= since) followers++;
    return followers;
  }
}

interface Claim {
  readonly name: string;
  readonly followers: number;
  readonly isNew: boolean;
}

/** Returns whether `one` must exit. Of two new centrals with equal claims, the one whose name sorts last exits. */
function mustExit(one: Claim, other: Claim): boolean {
  const isOneFollowed = one.followers > 0;
  const isOtherFollowed = other.followers > 0;
  if (one.isNew && other.isNew) {
    return isOneFollowed === isOtherFollowed ? other.name < one.name : isOtherFollowed;
  }
  return isOtherFollowed && (one.isNew || !isOneFollowed);
}

function duplicateError({ name, followers }: Claim): InputError {
  return new InputError(
    'second-central',
    `another central runs this cluster: ${name}, which ${followers} workers and schedulers follow`,
    'a cluster has exactly one central; stop this one, or use it for a separate cluster',
  );
}

import type { Millis, Timings } from '@goshawk/core';
import type { Registry, WorkerRecord } from './registry.js';
import type { SchedulerRecord } from './schedulers.js';

interface EndedLeases {
  readonly workers: readonly WorkerRecord[];
  readonly schedulers: readonly SchedulerRecord[];
  /** Schedulers that have been away too long. */
  readonly givenUp: readonly SchedulerRecord[];
}

interface Heard {
  readonly lastSeenAt: Millis;
}

/**
 * A party that is silent for a lease is lost, unless central itself was not listening. A suspended or overloaded
 * central wakes up to leases that look expired, and to unread heartbeats that renew them. It notices this without
 * another clock because its periodic check runs late; then all leases restart.
 */
export class Leases {
  readonly #registry: Registry;
  readonly #timings: Timings;
  #startedAt: Millis = 0;
  #dueAt: Millis = 0;
  /** Leases count from this time at the earliest. */
  #since: Millis = Number.NEGATIVE_INFINITY;

  constructor(registry: Registry, timings: Timings) {
    this.#registry = registry;
    this.#timings = timings;
  }

  start(now: Millis): void {
    this.#startedAt = now;
  }

  /** Parties from before central's start have had one lease to register. */
  haveAllReported(now: Millis): boolean {
    return now - this.#startedAt >= this.#timings.leaseMs;
  }

  /**
   * When to check leases next: as soon as the lease of a scheduler ends, because its jobs wait for another, and
   * periodically for workers, which are many.
   *
   * @returns undefined if there is no member
   */
  nextLook(now: Millis): Millis | undefined {
    const { heartbeatMs } = this.#timings;
    if (heartbeatMs === 0) return undefined;
    this.#dueAt = now + heartbeatMs;
    for (const scheduler of this.#registry.schedulers.all) {
      const endsAt = this.endsAt(scheduler);
      if (endsAt > now && endsAt < this.#dueAt) this.#dueAt = endsAt;
    }
    return this.#dueAt;
  }

  /** When the party was last heard, or when all leases last restarted. */
  lastSeenAt({ lastSeenAt }: Heard): Millis {
    return Math.max(lastSeenAt, this.#since);
  }

  endsAt(party: Heard): Millis {
    return this.lastSeenAt(party) + this.#timings.leaseMs;
  }

  ended(now: Millis): EndedLeases {
    const { leaseMs } = this.#timings;
    if (leaseMs === 0) return NONE;
    const lateMs = now - this.#dueAt;
    if (lateMs > leaseMs / 2) {
      this.#since = now;
      this.#registry.schedulers.overslept(lateMs);
    }
    const hasEnded = (party: Heard): boolean => now >= this.endsAt(party);
    return {
      workers: [...this.#registry.workers.values()].filter(hasEnded),
      schedulers: [...this.#registry.schedulers.members.values()].filter(hasEnded),
      givenUp: this.#registry.schedulers.giveUp(now),
    };
  }
}

const NONE: EndedLeases = { workers: [], schedulers: [], givenUp: [] };

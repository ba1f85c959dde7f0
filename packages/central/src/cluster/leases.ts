import type { Millis, Timings } from '@goshawk/core';
import type { Registry, WorkerRecord } from './registry.js';
import type { SchedulerRecord } from './schedulers.js';

interface EndedLeases {
  readonly workers: readonly WorkerRecord[];
  readonly schedulers: readonly SchedulerRecord[];
  /** Schedulers that have been away for too long. */
  readonly givenUp: readonly SchedulerRecord[];
}

interface LeaseHolder {
  readonly lastSeenAt: Millis;
}

/**
 * Finds parties whose leases have expired. After central was suspended or overloaded, leases look expired
 * although unread heartbeats would renew them. If the periodic check itself runs late, central restarts all
 * leases.
 */
export class Leases {
  readonly #registry: Registry;
  readonly #timings: Timings;
  #startedAt: Millis = 0;
  #dueAt: Millis = 0;
  /** When all leases last restarted. */
  #since: Millis = Number.NEGATIVE_INFINITY;

  constructor(registry: Registry, timings: Timings) {
    this.#registry = registry;
    this.#timings = timings;
  }

  start(now: Millis): void {
    this.#startedAt = now;
  }

  /** Returns whether one lease has passed since central's start, so that all live parties have registered. */
  haveAllReported(now: Millis): boolean {
    return now - this.#startedAt >= this.#timings.leaseMs;
  }

  /**
   * Returns when to check leases next: after one heartbeat interval, or earlier if the lease of a scheduler
   * ends, because its jobs then wait for another scheduler.
   *
   * @returns undefined without heartbeats
   */
  nextCheck(now: Millis): Millis | undefined {
    const { heartbeatMs } = this.#timings;
    if (heartbeatMs === 0) return undefined;
    this.#dueAt = now + heartbeatMs;
    for (const scheduler of this.#registry.schedulers.all) {
      const endsAt = this.endsAt(scheduler);
      if (endsAt > now && endsAt < this.#dueAt) this.#dueAt = endsAt;
    }
    return this.#dueAt;
  }

  /** Returns when the party last sent a message, or when all leases last restarted if that is later. */
  lastSeenAt({ lastSeenAt }: LeaseHolder): Millis {
    return Math.max(lastSeenAt, this.#since);
  }

  endsAt(party: LeaseHolder): Millis {
    return this.lastSeenAt(party) + this.#timings.leaseMs;
  }

  ended(now: Millis): EndedLeases {
    const { leaseMs } = this.#timings;
    if (leaseMs === 0) return NONE;
    const lateMs = now - this.#dueAt;
    if (lateMs > leaseMs / 2) {
      this.#since = now;
      this.#registry.schedulers.excludeSuspension(lateMs);
    }
    const hasEnded = (party: LeaseHolder): boolean => now >= this.endsAt(party);
    return {
      workers: [...this.#registry.workers.values()].filter(hasEnded),
      schedulers: [...this.#registry.schedulers.members.values()].filter(hasEnded),
      givenUp: this.#registry.schedulers.giveUp(now),
    };
  }
}

const NONE: EndedLeases = { workers: [], schedulers: [], givenUp: [] };

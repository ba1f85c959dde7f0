import type { Millis, Timings } from '@goshawk/core';
import type { AwayOwners } from './away-owners.js';
import type { Registry, SchedulerRecord, WorkerRecord } from './registry.js';

interface EndedLeases {
  readonly workers: readonly WorkerRecord[];
  readonly schedulers: readonly SchedulerRecord[];
  /** Were away for so long that nobody waits for them any more. */
  readonly givenUp: readonly SchedulerRecord[];
}

interface Heard {
  readonly heardAt: Millis;
}

/**
 * A party that is silent for a lease is lost, unless central itself was not listening. A central that was
 * suspended or overloaded wakes up to leases that look expired and unread heartbeats that renew them. It
 * detects this without another clock: its periodic check runs late. Then all leases restart.
 */
export class Leases {
  readonly #registry: Registry;
  readonly #away: AwayOwners;
  readonly #timings: Timings;
  #startedAt: Millis = 0;
  #dueAt: Millis = 0;
  /** No lease counts from before. */
  #since: Millis = Number.NEGATIVE_INFINITY;

  constructor(registry: Registry, away: AwayOwners, timings: Timings) {
    this.#registry = registry;
    this.#away = away;
    this.#timings = timings;
  }

  start(now: Millis): void {
    this.#startedAt = now;
  }

  /** Parties from before central's start have had one lease to register. */
  haveAllBeenHeard(now: Millis): boolean {
    return now - this.#startedAt >= this.#timings.leaseMs;
  }

  /**
   * As soon as a scheduler's lease ends, since others wait for its jobs; of workers, which are many, all at once.
   *
   * @returns when to look next; undefined where nobody has to be heard of
   */
  nextLook(now: Millis): Millis | undefined {
    const { heartbeatMs } = this.#timings;
    if (heartbeatMs === 0) return undefined;
    this.#dueAt = now + heartbeatMs;
    for (const schedulers of [this.#registry.schedulers.values(), this.#away.all()]) {
      for (const scheduler of schedulers) {
        const endsAt = this.endsAt(scheduler);
        if (endsAt > now && endsAt < this.#dueAt) this.#dueAt = endsAt;
      }
    }
    return this.#dueAt;
  }

  /** When the party was heard last, or when it could have been again. */
  heardAt({ heardAt }: Heard): Millis {
    return Math.max(heardAt, this.#since);
  }

  endsAt(party: Heard): Millis {
    return this.heardAt(party) + this.#timings.leaseMs;
  }

  ended(now: Millis): EndedLeases {
    const { leaseMs } = this.#timings;
    if (leaseMs === 0) return NONE;
    const lateMs = now - this.#dueAt;
    if (lateMs > leaseMs / 2) {
      this.#since = now;
      this.#away.overslept(lateMs);
    }
    const hasEnded = (party: Heard): boolean => now >= this.endsAt(party);
    return {
      workers: [...this.#registry.workers.values()].filter(hasEnded),
      schedulers: [...this.#registry.schedulers.values()].filter(hasEnded),
      givenUp: this.#away.giveUp(now),
    };
  }
}

const NONE: EndedLeases = { workers: [], schedulers: [], givenUp: [] };

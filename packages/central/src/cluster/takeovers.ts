import type { Address, MessageOf, Millis } from '@goshawk/core';
import type { CentralEnvironment } from '../contract.js';
import type { AwayOwners } from './away-owners.js';
import type { ExpectedSchedulers } from './expected-schedulers.js';
import type { Leases } from './leases.js';
import type { Registry, SchedulerRecord } from './registry.js';

interface Asked {
  readonly whom: Address;
  readonly at: Millis;
}

/** Actual or intended owners of jobs. */
interface Owners {
  readonly registry: Registry;
  readonly away: AwayOwners;
  readonly expected: ExpectedSchedulers;
}

/**
 * With shared journals, another scheduler takes over the jobs of a lost one: the least loaded claims the next
 * epoch. The journal decides whether it succeeds, so duplicate requests are harmless; central learns of it by
 * the introduction. A scheduler that introduces itself with an outdated epoch is notified and ignored.
 */
export class Takeovers {
  readonly #env: Pick<CentralEnvironment, 'send' | 'happened'>;
  readonly #registry: Registry;
  readonly #away: AwayOwners;
  readonly #expected: ExpectedSchedulers;
  readonly #leases: Leases;
  readonly #leaseMs: Millis;
  /** The highest epoch that was heard, by tag. */
  readonly #epochs = new Map<string, number>();
  readonly #asked = new Map<string, Asked>();
  /** An operator requested the takeover, regardless of how long they are away. */
  readonly #wanted = new Set<string>();

  constructor(
    env: Pick<CentralEnvironment, 'send' | 'happened'>,
    { registry, away, expected }: Owners,
    leases: Leases,
    leaseMs: Millis,
  ) {
    this.#env = env;
    this.#registry = registry;
    this.#away = away;
    this.#expected = expected;
    this.#leases = leases;
    this.#leaseMs = leaseMs;
  }

  /** @returns whether another one has its jobs, and was notified */
  refuses(from: Address, { tag, epoch }: MessageOf<'enlist'>): boolean {
    const highest = this.#epochs.get(tag) ?? 0;
    if (epoch < highest) {
      this.#env.send(from, { type: 'superseded', epoch: highest });
      return true;
    }
    if (epoch === 0) return false;
    this.#epochs.set(tag, epoch);
    this.#asked.delete(tag);
    this.#wanted.delete(tag);
    return false;
  }

  /** However long it was silent. */
  want(tag: string): void {
    this.#wanted.add(tag);
  }

  /** Asks somebody to take over from those whose lease has ended, and asks again until it is done. */
  look(now: Millis): void {
    const due = [...this.#away.all()].filter((gone) => {
      const isDue = this.#wanted.has(gone.tag) || now >= this.#leases.endsAt(gone);
      return gone.epoch > 0 && isDue;
    });
    // The owner with the most jobs goes first.
    for (const gone of due.sort((one, other) => other.jobs - one.jobs)) this.#ask(gone, now);
    const unowned = new Set([
      ...this.#expected.abandoned(now),
      ...this.#expected.unowned(now).filter(({ tag }) => this.#wanted.has(tag)),
    ]);
    for (const journal of unowned) this.#ask({ ...journal, jobs: 0 }, now);
  }

  #ask(
    { name, tag, epoch, jobs }: Pick<SchedulerRecord, 'name' | 'tag' | 'epoch' | 'jobs'>,
    now: Millis,
  ): void {
    const before = this.#asked.get(tag);
    const isAsked =
      before !== undefined && now - before.at <= this.#leaseMs && this.#registry.schedulers.has(before.whom);
    const whom = isAsked ? this.#registry.schedulers.get(before.whom) : this.#leastLoaded();
    if (whom === undefined) return;
    if (!isAsked) {
      this.#asked.set(tag, { whom: whom.address, at: now });
      // Until it says itself how many it has: who is asked next is to be another one.
      whom.jobs += jobs;
      this.#env.happened?.({ kind: 'takeover-requested', scheduler: name, tag, by: whom.name, epoch });
    }
    this.#env.send(whom.address, { type: 'takeOver', name, tag, epoch });
  }

  /** Includes jobs that its process has already taken over. */
  #leastLoaded(): SchedulerRecord | undefined {
    const load = new Map<string, number>();
    for (const { endpoint, jobs } of this.#registry.schedulers.values())
      load.set(endpoint, (load.get(endpoint) ?? 0) + jobs);
    let least: SchedulerRecord | undefined;
    for (const scheduler of this.#registry.schedulers.values()) {
      if (scheduler.epoch === 0 || scheduler.adopted || scheduler.draining) continue;
      if (least === undefined || load.get(scheduler.endpoint)! < load.get(least.endpoint)!) least = scheduler;
    }
    return least;
  }
}

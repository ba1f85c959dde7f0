import type { Address, MessageOf, Millis } from '@goshawk/core';
import type { CentralEnvironment } from '../contract.js';
import type { ExpectedSchedulers } from './expected-schedulers.js';
import type { Leases } from './leases.js';
import type { SchedulerRecord, Schedulers } from './schedulers.js';

interface TakeoverRequest {
  readonly successor: Address;
  readonly at: Millis;
}

/**
 * Lets another scheduler take over the jobs of a lost one if the journal is shared. Central asks the least
 * loaded scheduler to claim the next epoch in the journal. The journal decides whether the claim succeeds, so
 * repeated requests are harmless. The new owner enlists with the new epoch. A scheduler with an outdated
 * epoch is rejected.
 */
export class Takeovers {
  readonly #env: Pick<CentralEnvironment, 'send' | 'eventOccurred'>;
  readonly #schedulers: Schedulers;
  readonly #expected: ExpectedSchedulers;
  readonly #leases: Leases;
  readonly #leaseMs: Millis;
  /** The highest known epoch by tag. */
  readonly #epochs = new Map<string, number>();
  readonly #requested = new Map<string, TakeoverRequest>();
  /** Tags for which an operator requested a takeover, regardless of how long the scheduler has been away. */
  readonly #forced = new Set<string>();

  constructor(
    env: Pick<CentralEnvironment, 'send' | 'eventOccurred'>,
    schedulers: Schedulers,
    expected: ExpectedSchedulers,
    leases: Leases,
    leaseMs: Millis,
  ) {
    this.#env = env;
    this.#schedulers = schedulers;
    this.#expected = expected;
    this.#leases = leases;
    this.#leaseMs = leaseMs;
  }

  /** Returns whether another scheduler owns the sender's jobs. If so, notifies the sender. */
  refuses(from: Address, { tag, epoch }: MessageOf<'enlist'>): boolean {
    const highest = this.#epochs.get(tag) ?? 0;
    if (epoch < highest) {
      this.#env.send(from, { type: 'superseded', epoch: highest });
      return true;
    }
    if (epoch === 0) return false;
    this.#epochs.set(tag, epoch);
    this.#requested.delete(tag);
    this.#forced.delete(tag);
    return false;
  }

  /** Marks a takeover as due, even if the lease has not ended. */
  force(tag: string): void {
    this.#forced.add(tag);
  }

  /** Requests all takeovers that are due. Called repeatedly, because requests may be lost. */
  requestDue(now: Millis): void {
    const unowned = this.#expected.unowned(now);
    // Its last known owner cannot hand over a journal that another scheduler has claimed since.
    const claimed = new Set(unowned.map(({ tag }) => tag));
    const due = this.#schedulers.away.filter((gone) => {
      const isDue = this.#forced.has(gone.tag) || now >= this.#leases.endsAt(gone);
      return gone.epoch > 0 && isDue && !claimed.has(gone.tag);
    });
    // The lost scheduler with the most jobs goes first.
    for (const gone of due.sort((one, other) => other.jobs - one.jobs)) this.#request(gone, now);
    const assigned = new Set([
      ...this.#expected.abandoned(now),
      ...unowned.filter(({ tag }) => this.#forced.has(tag)),
    ]);
    for (const journal of assigned) this.#request({ ...journal, jobs: 0 }, now);
  }

  #request(
    { name, tag, epoch, jobs }: Pick<SchedulerRecord, 'name' | 'tag' | 'epoch' | 'jobs'>,
    now: Millis,
  ): void {
    const before = this.#requested.get(tag);
    const isRequested =
      before !== undefined &&
      now - before.at <= this.#leaseMs &&
      this.#schedulers.members.has(before.successor);
    const successor = isRequested ? this.#schedulers.members.get(before.successor) : this.#leastLoaded();
    if (successor === undefined) return;
    if (!isRequested) {
      this.#requested.set(tag, { successor: successor.address, at: now });
      // The jobs count before the successor's next report, so that the next takeover goes to another
      // scheduler.
      successor.jobs += jobs;
      this.#env.eventOccurred?.({
        kind: 'takeover-requested',
        scheduler: name,
        tag,
        by: successor.name,
        epoch,
      });
    }
    this.#env.send(successor.address, { type: 'takeOver', name, tag, epoch });
  }

  /** Returns the scheduler whose process has the fewest jobs, including those that it has taken over. */
  #leastLoaded(): SchedulerRecord | undefined {
    const load = new Map<string, number>();
    for (const { endpoint, jobs } of this.#schedulers.members.values())
      load.set(endpoint, (load.get(endpoint) ?? 0) + jobs);
    let least: SchedulerRecord | undefined;
    for (const scheduler of this.#schedulers.members.values()) {
      if (scheduler.epoch === 0 || scheduler.adopted || scheduler.draining) continue;
      if (least === undefined || load.get(scheduler.endpoint)! < load.get(least.endpoint)!) least = scheduler;
    }
    return least;
  }
}

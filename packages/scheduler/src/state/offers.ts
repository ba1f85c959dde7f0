import {
  DenseIds,
  fits,
  IndexedHeap,
  invariant,
  type Millis,
  patienceMsOf,
  type Resources,
} from '@goshawk/core';
import type { Cluster } from '../cluster/cluster.js';
import type { Batch } from '../job/batch.js';
import type { Job } from '../job/job.js';

export interface Offer {
  readonly job: Job;
  readonly batch: Batch;
  /** Number of waiting tasks as of the last update. */
  waiting: number;
}

/** Batches whose tasks may go to any worker that asks, in order of priority. */
export class Offers {
  readonly #cluster: Pick<Cluster, 'joinedPolicy'>;
  /** Sequence numbers by id, to break ties in order of arrival. */
  readonly #arrivals: number[] = [];
  readonly #heap = new IndexedHeap(this.#arrivals);
  /** Offers in the order of their arrival, or of their last assigned task. */
  readonly #byWait = new IndexedHeap(this.#arrivals);
  /** Offers by heap id; ids are reused to keep the heap small. */
  readonly #offers: (Offer | undefined)[] = [];
  readonly #idOf = new Map<Batch, number>();
  readonly #ids = new DenseIds();
  /** Number of batches of each user. */
  readonly #batchesOfUser = new Map<string | undefined, number>();
  #lastArrival = 0;
  #waiting = 0;

  constructor(cluster: Pick<Cluster, 'joinedPolicy'>) {
    this.#cluster = cluster;
  }

  get size(): number {
    return this.#heap.size;
  }

  /** Number of tasks in all batches. */
  get waiting(): number {
    return this.#waiting;
  }

  batchesOf(user: string | undefined): number {
    return this.#batchesOfUser.get(user) ?? 0;
  }

  /** Whether tasks of another user wait here as well. */
  hasOtherUsersThan(user: string | undefined): boolean {
    return this.#batchesOfUser.size > (this.#batchesOfUser.has(user) ? 1 : 0);
  }

  /** Updates the offer after the number of waiting or startable tasks has changed. */
  update(job: Job, batch: Batch, now: Millis): void {
    const id = this.#idOf.get(batch);
    if (!isOpen(job, batch)) return id === undefined ? undefined : this.#remove(batch, id);
    if (id === undefined) return this.#add(job, batch, now);
    const offer = this.#offers[id]!;
    if (batch.waiting < offer.waiting) this.#byWait.set(id, now);
    this.#waiting += batch.waiting - offer.waiting;
    offer.waiting = batch.waiting;
    this.#heap.set(id, sortKeyOf(offer));
  }

  /** Withdraws the batch. */
  withdraw(batch: Batch): void {
    const id = this.#idOf.get(batch);
    if (id !== undefined) this.#remove(batch, id);
  }

  /** Checks that no ended or cancelled job is offered. */
  checkInvariants(): void {
    for (const id of this.#heap.ids()) {
      const { job } = this.#offers[id]!;
      invariant(!job.hasEnded && !job.cancelling, () => `tasks of ${job.id} are offered, which has ended`);
    }
  }

  /**
   * Returns the first offer with a task that fits into the free resources, or undefined. Offers that have waited too
   * long for a worker go first, the longest wait first.
   *
   * @param isAllowed whether the asking worker may get a task of the offer
   */
  first(spare: Resources, now: Millis, isAllowed: (offer: Offer) => boolean = () => true): Offer | undefined {
    if (this.size === 0) return undefined;
    const suits = (offer: Offer): boolean => isSuitable(offer, spare, isAllowed);
    const before = now - patienceMsOf(this.#cluster.joinedPolicy);
    if (this.#byWait.topKey() <= before) {
      const offer = this.#firstSuitable(this.#byWait, suits, before);
      if (offer !== undefined) return offer;
    }
    for (;;) {
      const id = this.#heap.top();
      if (id < 0) return undefined;
      const offer = this.#offers[id]!;
      const { job, batch } = offer;
      // Another worker may have taken its last task.
      if (!isOpen(job, batch)) this.#remove(batch, id);
      else if (suits(offer)) return offer;
      else return this.#firstSuitable(this.#heap, suits);
    }
  }

  /** The first offer in this order, if two of its tasks fit into a series. */
  firstIfTiny(spare: Resources, now: Millis, isAllowed: (offer: Offer) => boolean): Offer | undefined {
    const offer = this.first(spare, now, isAllowed);
    return offer !== undefined && isTiny(offer.job, this.#cluster.joinedPolicy.seriesMs) ? offer : undefined;
  }

  #firstSuitable(
    heap: IndexedHeap,
    suits: (offer: Offer) => boolean,
    most = Number.POSITIVE_INFINITY,
  ): Offer | undefined {
    let least = -1;
    for (const id of heap.ids()) {
      const offer = this.#offers[id]!;
      if (heap.keyOf(id)! > most || !isOpen(offer.job, offer.batch) || !suits(offer)) continue;
      if (least < 0 || heap.isBefore(id, least)) least = id;
    }
    return this.#offers[least];
  }

  #add(job: Job, batch: Batch, now: Millis): void {
    const id = this.#ids.take();
    const offer: Offer = { job, batch, waiting: batch.waiting };
    this.#idOf.set(batch, id);
    this.#offers[id] = offer;
    this.#arrivals[id] = this.#lastArrival++;
    const { user } = job.spec;
    this.#batchesOfUser.set(user, (this.#batchesOfUser.get(user) ?? 0) + 1);
    this.#waiting += offer.waiting;
    this.#heap.set(id, sortKeyOf(offer));
    this.#byWait.set(id, now);
  }

  #remove(batch: Batch, id: number): void {
    this.#heap.delete(id);
    this.#byWait.delete(id);
    this.#idOf.delete(batch);
    const { job, waiting } = this.#offers[id]!;
    this.#waiting -= waiting;
    const { user } = job.spec;
    const left = this.#batchesOfUser.get(user)! - 1;
    if (left > 0) this.#batchesOfUser.set(user, left);
    else this.#batchesOfUser.delete(user);
    this.#offers[id] = undefined;
    this.#ids.release(id);
  }
}

/** Sort key of an offer: its waiting work, scaled by priority. The least goes first. */
function sortKeyOf({ job, batch }: Offer): number {
  return job.expectedRunMs * batch.waiting * job.slackFactor;
}

function isOpen(job: Job, batch: Batch): boolean {
  return batch.waiting > 0 && job.isDurable && !job.cancelling && !job.hasEnded;
}

function isSuitable(offer: Offer, spare: Resources, isAllowed: (offer: Offer) => boolean): boolean {
  const { job, batch } = offer;
  return job.assignableCount > 0 && fits(batch.spec.demand, spare) && isAllowed(offer);
}

function isTiny(job: Job, seriesMs: Millis): boolean {
  return 2 * (job.meanRunMs ?? Number.POSITIVE_INFINITY) < seriesMs;
}

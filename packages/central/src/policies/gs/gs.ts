import { fits, type GsSettings, type Millis, type PolicySettings, patienceMsOf } from '@goshawk/core';
import { type BatchView, type CentralPolicy, type ClusterView, NO_STARTS, type Plan } from '../contract.js';
import { type Offer, PlanDraft } from '../plan-draft.js';
import { BatchOrder } from './batch-order.js';
import { Shares } from './shares.js';

/** The second highest: pilots should be through soon, and not delay what is known to be small (SLearn §5.1.2). */
const SAMPLING_QUEUE = 1;

/**
 * The scheduler that SLearn is compared in (GS, SLearn §5.1.1): priority queues by the estimated size of jobs, weighted
 * shares between them, the order of arrival inside each. Pilots have the second queue and thin jobs the first, and
 * where slots would idle, tasks that wait for their job's pilots run before those have told.
 *
 * Of a job whose size nobody estimates the queue is told by the service that it has attained (`las`, §5.1.3), or all
 * wait in one queue (`fifo`).
 */
export class Gs implements CentralPolicy {
  readonly #settings: GsSettings;
  readonly #by: 'size' | 'service' | 'arrival';
  readonly #shares: Shares;
  /** By queue; of those that may start in it. */
  readonly #queues: readonly BatchOrder[];
  /** What may run before it is known how large it is. */
  readonly #early = new BatchOrder();
  /** Of every batch that waits: where. */
  readonly #placeOf = new Map<number, BatchOrder>();
  /** A batch that fitted nowhere for so long has workers kept for it. ms; Infinity: never */
  readonly #patienceMs: Millis;
  /** Batches that ask for more than a slot. */
  readonly #demanding = new Set<BatchView>();

  constructor(settings: GsSettings, policy: PolicySettings) {
    const { estimator } = policy;
    this.#settings = settings;
    this.#by = estimator === 'las' ? 'service' : estimator === 'fifo' ? 'arrival' : 'size';
    const queues = this.#by === 'arrival' ? 1 : settings.queues;
    this.#shares = new Shares(queues, settings.weightRatio);
    this.#queues = Array.from({ length: queues }, () => new BatchOrder());
    this.#patienceMs = patienceMsOf(policy);
  }

  plan(view: ClusterView, now: Millis): Plan {
    for (const batch of view.news.batches) this.#update(batch, now);
    if (view.freeWorkerCount === 0 || this.#placeOf.size === 0) return NO_STARTS;
    const draft = new PlanDraft(view);
    const starved = this.#starved(now);
    const kept = new Map<BatchView, number>();
    for (const offer of draft.offers()) {
      const first = starved.find(
        (batch) => (kept.get(batch) ?? 0) < draft.waiting(batch) && fits(batch.demand, offer.capacity),
      );
      if (first !== undefined) {
        kept.set(first, (kept.get(first) ?? 0) + 1);
        if (offer.suits(first.demand)) this.#start(draft, first, offer, this.#queueOf(first, now));
        continue;
      }
      while (offer.free > 0 && this.#serve(draft, offer, now));
      if (this.#placeOf.size === 0) break;
    }
    return draft.plan;
  }

  /** @returns whether the worker got a task */
  #serve(draft: PlanDraft, offer: Offer, now: Millis): boolean {
    const suits = (batch: BatchView): boolean => offer.suits(batch.demand);
    const firsts = this.#queues.map((_, queue) => this.#firstOf(queue, suits, now));
    const queue = this.#shares.give(
      (of) => firsts[of] !== undefined,
      (of) => draft.runsTagged(of),
    );
    if (queue >= 0) {
      this.#start(draft, firsts[queue]!, offer, queue);
      return true;
    }
    const early = this.#early.first(suits);
    if (early === undefined) return false;
    this.#start(draft, early, offer, this.#queueOf(early, now));
    return true;
  }

  #start(draft: PlanDraft, batch: BatchView, offer: Offer, queue: number): void {
    draft.start(batch, offer, queue);
    if (draft.waiting(batch) === 0) this.#forget(batch);
  }

  /** Service moves a job down; those that have had more than their queue has are moved as they come first. */
  #firstOf(queue: number, suits: (batch: BatchView) => boolean, now: Millis): BatchView | undefined {
    const order = this.#queues[queue]!;
    for (;;) {
      const first = order.first(suits);
      if (first === undefined || this.#by !== 'service') return first;
      const present = this.#queueOf(first, now);
      if (present <= queue) return first;
      this.#place(first, this.#queues[present]!);
    }
  }

  #update(batch: BatchView, now: Millis): void {
    if (batch.waiting === 0) return this.#forget(batch);
    this.#place(batch, batch.part === 'early' ? this.#early : this.#queues[this.#queueOf(batch, now)]!);
    for (const _ in batch.demand) this.#demanding.add(batch);
  }

  #place(batch: BatchView, order: BatchOrder): void {
    this.#placeOf.get(batch.id)?.delete(batch.id);
    this.#placeOf.set(batch.id, order);
    order.add(batch);
  }

  #forget(batch: BatchView): void {
    this.#placeOf.get(batch.id)?.delete(batch.id);
    this.#placeOf.delete(batch.id);
    this.#demanding.delete(batch);
  }

  #queueOf({ part, job, estimateMs }: BatchView, now: Millis): number {
    switch (this.#by) {
      case 'arrival':
        return 0;
      case 'service':
        return this.#queueOfSize(job.attainedMs(now));
      case 'size':
        if (part === 'thin') return 0;
        if (part === 'judged') return this.#queueOfSize(estimateMs * job.tasks);
        return Math.min(SAMPLING_QUEUE, this.#queues.length - 1);
    }
  }

  /** Queue q has what is smaller than base · growth^q, and the last one the rest. */
  #queueOfSize(sizeMs: Millis): number {
    const { baseMs, growth } = this.#settings;
    let queue = 0;
    for (let below = baseMs; sizeMs >= below && queue < this.#queues.length - 1; below *= growth) queue++;
    return queue;
  }

  /** What fits only where much is free, and has waited for that for too long; the longest first. */
  #starved(now: Millis): readonly BatchView[] {
    if (this.#demanding.size === 0) return NOBODY_STARVES;
    const starved = [...this.#demanding].filter(({ waitsSince }) => now - waitsSince >= this.#patienceMs);
    return starved.sort((a, b) => a.waitsSince - b.waitsSince);
  }
}

const NOBODY_STARVES: readonly BatchView[] = [];

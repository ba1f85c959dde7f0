import type { Address, Millis, Resources } from '@goshawk/core';
import type { Cluster } from '../cluster/cluster.js';

/** A slot whose tiny task has ended, and whose question for the next one has no answer yet. */
export interface HeldSlot {
  readonly worker: Address;
  readonly ask: number;
  /** Free resources besides the slot. */
  readonly spare: Resources;
}

/** Fraction of the maximum series length: enough for a client to learn of a job's end and submit the next. */
const HELD_SHARE = 1 / 5;

/**
 * Slots that wait here a moment for the next job, so that one small job after another runs without asking central. To central
 * such a slot is still in its series.
 */
export class HeldSlots {
  readonly #cluster: Pick<Cluster, 'policy' | 'isCalm'>;
  /** In the order in which they came, in which they are let go as well. */
  readonly #slots: (HeldSlot & { readonly until: Millis })[] = [];

  constructor(cluster: Pick<Cluster, 'policy' | 'isCalm'>) {
    this.#cluster = cluster;
  }

  /** While tasks wait at central, no slot waits for a task. */
  get mayHold(): boolean {
    return this.#cluster.isCalm;
  }

  get isEmpty(): boolean {
    return this.#slots.length === 0;
  }

  /** When the first of them is to be let go; Infinity: none is held. */
  get nextAt(): Millis {
    return this.#slots[0]?.until ?? Number.POSITIVE_INFINITY;
  }

  hold(slot: HeldSlot, now: Millis): void {
    this.#slots.push({ ...slot, until: now + HELD_SHARE * this.#cluster.policy.seriesMs });
  }

  /** The last of those that suit, which is held no longer. */
  take(suits: (slot: HeldSlot) => boolean): HeldSlot | undefined {
    const place = this.#slots.findLastIndex(suits);
    return place < 0 ? undefined : this.#slots.splice(place, 1)[0];
  }

  /** Those whose time is over, which are held no longer. */
  takeOverdue(now: Millis): readonly HeldSlot[] {
    const first = this.#slots.findIndex(({ until }) => until > now);
    return this.#slots.splice(0, first < 0 ? this.#slots.length : first);
  }
}

import type { Address, Millis, Resources } from '@goshawk/core';
import type { Cluster } from '../cluster/cluster.js';

/** A slot that has finished a tiny task and waits for an answer to its request for another. */
export interface WaitingSlot {
  readonly worker: Address;
  readonly ask: number;
  /** Free resources besides the slot. */
  readonly spare: Resources;
}

/** Maximum wait as a fraction of the maximum series length: a client can learn of a job's end and submit the next. */
const WAIT_SHARE = 1 / 5;

/**
 * Slots that wait here briefly for the next job, so that consecutive small jobs run without asking central. Central
 * considers such a slot still in its series.
 */
export class WaitingSlots {
  readonly #cluster: Pick<Cluster, 'joinedPolicy' | 'isCentralIdle'>;
  /** In order of arrival, which is also the order of release. */
  readonly #slots: (WaitingSlot & { readonly until: Millis })[] = [];

  constructor(cluster: Pick<Cluster, 'joinedPolicy' | 'isCentralIdle'>) {
    this.#cluster = cluster;
  }

  /** Whether a slot may wait here. It must not while tasks wait at central, which could use it. */
  get mayWait(): boolean {
    return this.#cluster.isCentralIdle;
  }

  get isEmpty(): boolean {
    return this.#slots.length === 0;
  }

  /** When the first slot is released; Infinity: none. */
  get nextReleaseAt(): Millis {
    return this.#slots[0]?.until ?? Number.POSITIVE_INFINITY;
  }

  add(slot: WaitingSlot, now: Millis): void {
    this.#slots.push({ ...slot, until: now + WAIT_SHARE * this.#cluster.joinedPolicy.seriesMs });
  }

  /** Removes and returns the newest matching slot. */
  take(suits: (slot: WaitingSlot) => boolean): WaitingSlot | undefined {
    const index = this.#slots.findLastIndex(suits);
    return index < 0 ? undefined : this.#slots.splice(index, 1)[0];
  }

  /** Removes and returns slots whose time is over. */
  takeExpired(now: Millis): readonly WaitingSlot[] {
    const first = this.#slots.findIndex(({ until }) => until > now);
    return this.#slots.splice(0, first < 0 ? this.#slots.length : first);
  }
}

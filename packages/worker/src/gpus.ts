import { GPU, LIMITS, type Resources } from '@goshawk/core';

/** Amounts are sums of fractions: less than this is nothing. */
const EPSILON = 1e-9;

/**
 * The GPUs of one worker, by index. A task that demands whole GPUs has them for itself, the lowest that are free; one that
 * demands a part of one shares the fullest that has room. Where parts leave no whole one free, a task gets the emptiest.
 */
export class Gpus {
  /** Of each GPU, how much is taken: 1 is all of it. */
  readonly #taken: Float64Array;
  readonly #held = new Map<
    number,
    { readonly indices: readonly number[]; readonly shares: readonly number[] }
  >();

  constructor(count: number) {
    this.#taken = new Float64Array(count);
  }

  /** @returns undefined for a worker that has none, or whose amount is no number of devices */
  static of(capacity: Resources): Gpus | undefined {
    const count = Math.ceil(capacity[GPU] ?? 0);
    return count > 0 && count <= LIMITS.gpusMax ? new Gpus(count) : undefined;
  }

  /** The slot gets GPUs for what its task demands. */
  take(slot: number, { [GPU]: amount = 0 }: Resources): void {
    const indices: number[] = [];
    const shares: number[] = [];
    for (let left = amount; left > EPSILON && indices.length < this.#taken.length; left--) {
      const share = Math.min(1, left);
      const index = this.#best(share, indices);
      this.#taken[index]! += share;
      indices.push(index);
      shares.push(share);
    }
    if (indices.length > 0) this.#held.set(slot, { indices, shares });
  }

  free(slot: number): void {
    const held = this.#held.get(slot);
    if (held === undefined) return;
    this.#held.delete(slot);
    for (const [at, index] of held.indices.entries()) {
      const rest = this.#taken[index]! - held.shares[at]!;
      this.#taken[index] = rest < EPSILON ? 0 : rest;
    }
  }

  /** In the order in which they were given. */
  heldBy(slot: number): readonly number[] {
    return this.#held.get(slot)?.indices ?? [];
  }

  /** The fullest with room for the share, else the emptiest; the lowest of equal ones. */
  #best(share: number, except: readonly number[]): number {
    let best = -1;
    for (const [index, taken] of this.#taken.entries()) {
      if (except.includes(index)) continue;
      const other = this.#taken[best];
      if (other === undefined) best = index;
      else if (taken + share > 1 + EPSILON) best = taken < other ? index : best;
      else if (other + share > 1 + EPSILON || taken > other) best = index;
    }
    return best;
  }
}

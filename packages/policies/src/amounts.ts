/**
 * Arithmetic on resource vectors. Comparisons have a tolerance relative to the whole amount, because shares and sums
 * of demands are rounded and an exact fit must still fit.
 */

/** Amounts by resource index. */
export type Amounts = ArrayLike<number>;

export const TOLERANCE = 1e-9;

/** @param whole scale of the tolerance, by resource; at least the size of `free` */
export function fitsWithin(demand: Amounts, free: Amounts, whole: Amounts): boolean {
  for (let r = 0; r < demand.length; r++) {
    if (demand[r]! > (free[r] ?? 0) + TOLERANCE * (whole[r] ?? 0)) return false;
  }
  return true;
}

/** How many tasks of this demand fit, up to `wanted`. */
export function countWithin(demand: Amounts, free: Amounts, whole: Amounts, wanted: number): number {
  let count = wanted;
  for (let r = 0; r < demand.length; r++) {
    const each = demand[r]!;
    if (each > 0) count = Math.min(count, Math.floor(((free[r] ?? 0) + TOLERANCE * (whole[r] ?? 0)) / each));
  }
  return Math.max(0, count);
}

/** Adds a multiple of the amounts, in place. */
export function addAmounts(to: Float64Array, amounts: Amounts, times: number): void {
  for (let r = 0; r < to.length; r++) to[r]! += times * (amounts[r] ?? 0);
}

/** The largest used fraction of any resource. Resources with a capacity of 0 or infinity do not count. */
export function dominantShare(used: Amounts, whole: Amounts): number {
  let share = 0;
  for (let r = 0; r < whole.length; r++) {
    if (isCounted(whole[r]!)) share = Math.max(share, (used[r] ?? 0) / whole[r]!);
  }
  return share;
}

/** The sum of the fractions of all resources: the size of a task if all resources count equally. */
export function sumOfShares(demand: Amounts, whole: Amounts): number {
  let sum = 0;
  for (let r = 0; r < whole.length; r++) {
    if (isCounted(whole[r]!)) sum += (demand[r] ?? 0) / whole[r]!;
  }
  return sum;
}

/** Tetris' alignment: the dot product of the demand and the free amounts, both as fractions of `whole`. */
export function alignment(demand: Amounts, free: Amounts, whole: Amounts): number {
  let sum = 0;
  for (let r = 0; r < whole.length; r++) {
    const capacity = whole[r]!;
    if (isCounted(capacity)) sum += ((demand[r] ?? 0) / capacity) * ((free[r] ?? 0) / capacity);
  }
  return sum;
}

/** Whether a resource with this capacity counts in shares. */
export function isCounted(capacity: number): boolean {
  return capacity > 0 && capacity < Number.POSITIVE_INFINITY;
}

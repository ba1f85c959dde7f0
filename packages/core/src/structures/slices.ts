/** Consecutive parts of a list, each with at most this many items. */
export function* slicesOf<T>(items: readonly T[], most: number): Iterable<T[]> {
  for (let from = 0; from < items.length; from += most) yield items.slice(from, from + most);
}

/** Returns the first index for which `isThere` holds, or `length`. It must hold for all higher indices, too. */
export function firstIndex(length: number, isThere: (index: number) => boolean): number {
  let [low, high] = [0, length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (isThere(middle)) high = middle;
    else low = middle + 1;
  }
  return low;
}

/** Consecutive parts of a list, each with at most this many items. */
export function* slicesOf<T>(items: readonly T[], most: number): Iterable<T[]> {
  for (let from = 0; from < items.length; from += most) yield items.slice(from, from + most);
}

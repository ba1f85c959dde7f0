/** Fraction of the entries that a map keeps when it evicts. */
const KEPT = 7 / 8;

/**
 * Sets it as the latest of the map, which keeps so many at most: with one more, some that were set first go. Not one at a time,
 * since Map steps over all that it has lost at its beginning each time that somebody looks for the first.
 */
export function setLatest<K, V>(map: Map<K, V>, key: K, value: V, max: number): void {
  map.delete(key);
  map.set(key, value);
  if (map.size <= max) return;
  const kept = Math.ceil(KEPT * max);
  for (const first of map.keys()) {
    if (map.size <= kept) return;
    map.delete(first);
  }
}

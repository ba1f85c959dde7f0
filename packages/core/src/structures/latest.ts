/** Fraction of the entries that a map keeps when it evicts. */
const KEPT = 7 / 8;

/**
 * Sets the key as the most recent one, and limits the size of the map by evicting the oldest keys. Evicts
 * many at a time, because finding a Map's first key skips over every deleted one.
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

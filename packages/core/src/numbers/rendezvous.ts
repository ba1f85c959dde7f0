import { hashText, scramble } from './hash.js';

/**
 * Rendezvous hashing (Thaler and Ravishankar 1998, "highest random weight"): each (key, name) pair has a
 * weight, and a key belongs to the name with the highest weight. When a name leaves, only its keys move; when
 * a name joins, it takes an equal share from each. All clients that know the same names agree without
 * communication.
 */

/** The item that owns the key, ignoring excluded items; undefined if none is left. */
export function rendezvous<T extends { readonly name: string }>(
  key: string,
  among: readonly T[],
  excluded?: ReadonlySet<string>,
): T | undefined {
  const keyHash = hashText(key);
  let best: T | undefined;
  let bestWeight = -1;
  for (const one of among) {
    if (excluded?.has(one.name)) continue;
    const weight = scramble(keyHash ^ scramble(hashText(one.name)));
    // The name breaks ties, so that the order of the list does not matter.
    if (weight > bestWeight || (weight === bestWeight && one.name < best!.name)) {
      best = one;
      bestWeight = weight;
    }
  }
  return best;
}

import { hashText, scramble } from './hash.js';

/**
 * Rendezvous hashing (Thaler and Ravishankar 1998, "highest random weight"): every pair of a key and a name
 * has a weight, and a key goes to the name with which it weighs most. When a name goes, only its own keys
 * move, each to its second; when one comes, it takes its share from all. Every client that knows the same
 * names decides the same, without asking anyone.
 */

/** The named thing that the key belongs to, those excluded left out; undefined when none is left. */
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
    // Equal weights are decided by the name, never by the order of the list.
    if (weight > bestWeight || (weight === bestWeight && one.name < best!.name)) {
      best = one;
      bestWeight = weight;
    }
  }
  return best;
}

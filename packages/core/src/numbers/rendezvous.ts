const OFFSET = 0x811c9dc5;

/** FNV-1a over UTF-16 code units; 32 bits. */
export function hashText(text: string, seed = 0): number {
  let bits = OFFSET ^ seed;
  for (let i = 0; i < text.length; i++) bits = Math.imul(bits ^ text.charCodeAt(i), 0x01000193);
  return bits >>> 0;
}

/** MurmurHash3's finalizer: a bijection in which each input bit flips about half of the output bits. */
export function scramble(value: number): number {
  let bits = value;
  bits = Math.imul(bits ^ (bits >>> 16), 0x85ebca6b);
  bits = Math.imul(bits ^ (bits >>> 13), 0xc2b2ae35);
  return (bits ^ (bits >>> 16)) >>> 0;
}

/**
 * Rendezvous hashing (Thaler and Ravishankar 1998, "highest random weight"): each (key, name) pair has a
 * weight, and a key belongs to the name with the highest weight. When a name leaves, only its keys move; when
 * a name joins, it takes an equal share from each. All clients that know the same names agree without
 * communication.
 *
 * @returns the item that owns the key, ignoring excluded items; undefined if none is left
 */
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

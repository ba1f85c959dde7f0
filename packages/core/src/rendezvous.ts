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
  const keyHash = hash(key);
  let best: T | undefined;
  let bestWeight = -1;
  for (const one of among) {
    if (excluded?.has(one.name)) continue;
    const weight = scramble(keyHash ^ scramble(hash(one.name)));
    // Equal weights are decided by the name, never by the order of the list.
    if (weight > bestWeight || (weight === bestWeight && one.name < best!.name)) {
      best = one;
      bestWeight = weight;
    }
  }
  return best;
}

/** FNV-1a over UTF-16 code units; 32 bits. */
function hash(text: string): number {
  let bits = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) {
    bits = Math.imul(bits ^ text.charCodeAt(i), 0x01000193);
  }
  return bits >>> 0;
}

/** MurmurHash3's finaliser: a bijection in which each bit of the input changes about half of the output's. */
function scramble(value: number): number {
  let bits = value;
  bits = Math.imul(bits ^ (bits >>> 16), 0x85ebca6b);
  bits = Math.imul(bits ^ (bits >>> 13), 0xc2b2ae35);
  return (bits ^ (bits >>> 16)) >>> 0;
}

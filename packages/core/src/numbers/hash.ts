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

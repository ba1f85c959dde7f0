/**
 * Whether a text matches a pattern with `*` for any characters and `?` for one. Patterns are untrusted: the
 * time is at most proportional to the product of both lengths.
 */
export function matchesGlob(pattern: string, text: string): boolean {
  let at = 0;
  let next = 0;
  // Position of the last star and the length of text that it matches; on a mismatch it takes one more
  // character.
  let star = -1;
  let taken = 0;
  while (next < text.length) {
    const wanted = pattern[at];
    if (wanted === '*') {
      star = at++;
      taken = next;
    } else if (wanted !== undefined && (wanted === '?' || wanted === text[next])) {
      at++;
      next++;
    } else if (star >= 0) {
      at = star + 1;
      next = ++taken;
    } else return false;
  }
  while (pattern[at] === '*') at++;
  return at === pattern.length;
}

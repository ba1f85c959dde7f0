/**
 * Whether a text matches a pattern in which `*` stands for any characters and `?` for one. Takes time in proportion to both
 * lengths at most: patterns come from clients.
 */
export function matchesGlob(pattern: string, text: string): boolean {
  let at = 0;
  let next = 0;
  // Position of the last star and how much text it has matched: it takes one more character when the rest
  // does not match.
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

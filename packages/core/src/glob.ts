/**
 * Whether a text matches a pattern in which `*` stands for any characters and `?` for one. Takes time in proportion to both
 * lengths at most: patterns come from clients.
 */
export function matchesGlob(pattern: string, text: string): boolean {
  let at = 0;
  let next = 0;
  // Where the last star was, and how much of the text it has taken: it takes one more when what follows does not match.
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

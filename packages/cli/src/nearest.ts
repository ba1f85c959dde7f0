/** Of a name, so much may be mistyped that another one is still taken for what was meant. */
const MISTYPED_MAX = 1 / 3;

/** The name that somebody has likely meant; undefined where none is close. Differences are counted behind `GOSHAWK_`. */
export function nearest(name: string, candidates: Iterable<string>): string | undefined {
  let found: string | undefined;
  let least = Math.floor(MISTYPED_MAX * name.replace(/^GOSHAWK_/, '').length) + 1;
  for (const candidate of candidates) {
    const distance = editDistance(name, candidate);
    if (distance < least) [found, least] = [candidate, distance];
  }
  return found;
}

/** Letters to be put in, taken out or changed to make one word of the other (Levenshtein). */
function editDistance(one: string, other: string): number {
  let row = Array.from({ length: other.length + 1 }, (_, i) => i);
  for (let i = 1; i <= one.length; i++) {
    const next = [i];
    for (let j = 1; j <= other.length; j++) {
      const changed = row[j - 1]! + (one[i - 1] === other[j - 1] ? 0 : 1);
      next.push(Math.min(changed, row[j]! + 1, next[j - 1]! + 1));
    }
    row = next;
  }
  return row[other.length]!;
}

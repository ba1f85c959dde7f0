/** More changes than a third of its letters make it another word; of a short one, more than one. */
const CHANGES_MAX_SHARE = 1 / 3;
const LETTERS_MIN = 3;

/** The word that differs from the one given by the fewest letters, if by few enough to be what was meant. */
export function nearest(word: string, words: Iterable<string>): string | undefined {
  let best: string | undefined;
  let fewest = Math.floor(Math.max(word.length, LETTERS_MIN) * CHANGES_MAX_SHARE) + 1;
  for (const candidate of words) {
    const changes = distance(word, candidate);
    if (changes < fewest) [best, fewest] = [candidate, changes];
  }
  return best;
}

/** Letters to insert, delete or replace (Levenshtein). */
function distance(from: string, to: string): number {
  let above = Array.from({ length: to.length + 1 }, (_, i) => i);
  for (let i = 1; i <= from.length; i++) {
    const row = [i];
    for (let j = 1; j <= to.length; j++) {
      const replaced = above[j - 1]! + (from[i - 1] === to[j - 1] ? 0 : 1);
      row.push(Math.min(replaced, above[j]! + 1, row[j - 1]! + 1));
    }
    above = row;
  }
  return above[to.length]!;
}

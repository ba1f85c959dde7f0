/**
 * A word that differs in more than a third of its letters is another word; at least one change is allowed.
 */
const CHANGES_MAX_SHARE = 1 / 3;
const LETTERS_MIN = 3;

/** The word with the smallest edit distance, if it is small enough to be a typo. */
export function nearest(word: string, words: Iterable<string>): string | undefined {
  let best: string | undefined;
  let fewest = Math.floor(Math.max(word.length, LETTERS_MIN) * CHANGES_MAX_SHARE) + 1;
  for (const candidate of words) {
    const changes = distance(word, candidate);
    if (changes < fewest) [best, fewest] = [candidate, changes];
  }
  return best;
}

/** The end of an error line that suggests a word; empty without one. */
export function didYouMean(suggestion: string | undefined): string {
  return suggestion === undefined ? '' : `; did you mean ${suggestion}?`;
}

/** Describes a field that is likely a typo of a known one, because unknown fields are ignored; undefined: there is none. */
export function misnamedField(fields: object, known: readonly string[]): string | undefined {
  for (const field of Object.keys(fields)) {
    const meant = known.includes(field) ? undefined : nearest(field, known);
    if (meant !== undefined && !Object.hasOwn(fields, meant))
      return `there is no field "${field}"${didYouMean(`"${meant}"`)}`;
  }
  return undefined;
}

/** Damerau–Levenshtein distance: insertions, deletions, replacements, and swaps of adjacent letters. */
function distance(from: string, to: string): number {
  let above = Array.from({ length: to.length + 1 }, (_, i) => i);
  let twoAbove = above;
  for (let i = 1; i <= from.length; i++) {
    const row = [i];
    for (let j = 1; j <= to.length; j++) {
      const replaced = above[j - 1]! + (from[i - 1] === to[j - 1] ? 0 : 1);
      const isSwap = i > 1 && j > 1 && from[i - 1] === to[j - 2] && from[i - 2] === to[j - 1];
      const swapped = isSwap ? twoAbove[j - 2]! + 1 : replaced;
      row.push(Math.min(replaced, swapped, above[j]! + 1, row[j - 1]! + 1));
    }
    [twoAbove, above] = [above, row];
  }
  return above[to.length]!;
}

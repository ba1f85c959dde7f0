/** Matches a character that has no meaning for shells, for regular expressions with the flag `u`. */
export const PLAIN_CHARACTER = String.raw`[\p{L}\p{N}_@%+=:,./-]`;

/** Quotes a word for a POSIX shell if necessary. */
export function shellWord(word: string): string {
  return /^(?:[\w@%+=:,./-]|\{\})+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}

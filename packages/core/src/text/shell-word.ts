/** Quotes a word for a POSIX shell if necessary. */
export function shellWord(word: string): string {
  return /^(?:[\w@%+=:,./-]|\{\})+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}

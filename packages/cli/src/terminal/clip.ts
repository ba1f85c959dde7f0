/** Each line cut to so many columns, its colours kept; for what is drawn over again, where none may wrap. */
export function clipLines(text: string, columns: number): string {
  return text
    .split('\n')
    .map((line) => clip(line, columns))
    .join('\n');
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: escape sequences are what it is about
const PIECES = /\u001b\[[\d;]*m|[\s\S]/gu;

function clip(line: string, columns: number): string {
  let width = 0;
  let clipped = '';
  for (const [piece] of line.matchAll(PIECES)) {
    const isColor = piece.startsWith('\u001b');
    if (!isColor && ++width > columns) continue;
    clipped += piece;
  }
  return clipped;
}

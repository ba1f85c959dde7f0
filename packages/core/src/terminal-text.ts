import measure from 'fast-string-truncated-width';

/** Escape sequences of terminals: CSI (colours, cursor), OSC (titles, links) and the short ones. */
const ESCAPES =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what it is about
  /(?:\u001b\[|\u009b)[0-?]*[ -/]*[@-~]|(?:\u001b\]|\u009d)[^\u0007\u001b\u009c]*(?:\u0007|\u001b\\|\u009c)?|\u001b[ -/]*[0-~]/g;

/**
 * Characters that are not seen: marks that turn the direction of writing, which would show other words than there are,
 * spaces without width, and tags. Joiners stay: they belong to emoji and to several scripts.
 */
const UNSEEN =
  /[\u00ad\u061c\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb]|[\u{e0000}-\u{e007f}]/gu;

/** Others' words on one line: without what would move the cursor, break or turn the line, hide, or change colours. */
export function plain(text: string): string {
  return text
    .replaceAll(ESCAPES, '')
    .replaceAll(/[\p{Cc}\u2028\u2029]+/gu, ' ')
    .replaceAll(UNSEEN, '');
}

/** In columns of the terminal: East Asian wide characters take two, colours none. */
export function cellWidth(text: string): number {
  return measure(text).width;
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: escape sequences are what it is about
const PIECES = /\u001b\[[\d;]*m|[\s\S]/gu;

/**
 * So much of a text as has room in so many columns, with all of its colours. The library's own way to cut leaves too much of a text
 * in several scripts.
 */
export function cut(text: string, columns: number): string {
  if (cellWidth(text) <= columns) return text;
  let kept = '';
  let isFull = false;
  for (const [piece] of text.matchAll(PIECES)) {
    const isColor = piece.startsWith('\u001b');
    isFull ||= !isColor && cellWidth(kept + piece) > columns;
    if (isColor || !isFull) kept += piece;
  }
  return kept;
}

/** The same with a sign that something is missing. */
export function shortened(text: string, columns: number): string {
  return cellWidth(text) <= columns ? text : `${cut(text, columns - 1)}…`;
}

/** Wraps at spaces to lines of this width; a longer word gets a separate line. */
export function wrapWords(text: string, columns: number): string[] {
  if (cellWidth(text) <= columns) return [text];
  const [first = '', ...words] = text.split(' ');
  const lines: string[] = [];
  let line = first;
  for (const word of words) {
    const longer = `${line} ${word}`;
    if (cellWidth(longer) <= columns) line = longer;
    else {
      lines.push(line);
      line = word;
    }
  }
  return [...lines, line];
}

/** The same for lines that name commands: what stands in backquotes is for copying, and stays whole. */
export function wrapProse(text: string, columns: number): string {
  const glued = text.replaceAll(/`[^`\n]*`/g, (command) => command.replaceAll(' ', '\u00a0'));
  return glued
    .split('\n')
    .flatMap((line) => wrapWords(line, columns))
    .join('\n')
    .replaceAll('\u00a0', ' ');
}

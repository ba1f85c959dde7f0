import measure from 'fast-string-truncated-width';

/** Escape sequences of terminals: CSI (colors, cursor), OSC (titles, links) and short ones. */
const ESCAPES =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: escape sequences start with them
  /(?:\u001b\[|\u009b)[0-?]*[ -/]*[@-~]|(?:\u001b\]|\u009d)[^\u0007\u001b\u009c]*(?:\u0007|\u001b\\|\u009c)?|\u001b[ -/]*[0-~]/g;

/**
 * Invisible characters: direction marks, which could disguise text, spaces without width, and tags. Joiners
 * are kept because emoji and several scripts need them.
 */
const INVISIBLE =
  /[\u00ad\u061c\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb]|[\u{e0000}-\u{e007f}]/gu;

/**
 * Makes untrusted text safe to print on one line: removes escape sequences, line breaks, and invisible or
 * direction-changing characters.
 */
export function plain(text: string): string {
  return text
    .replaceAll(ESCAPES, '')
    .replaceAll(/[\p{Cc}\u2028\u2029]+/gu, ' ')
    .replaceAll(INVISIBLE, '');
}

/** Width in columns of the terminal: East Asian wide characters take two, escape sequences none. */
export function cellWidth(text: string): number {
  return measure(text).width;
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: escape sequences start with them
const PIECES = /\u001b\[[\d;]*m|[\s\S]/gu;

/**
 * Truncates text to a number of columns and keeps its colors. The library's function returns text that is too
 * wide for several scripts.
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

/** Like `cut`, with an ellipsis if text is removed. */
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

/** Like `wrapWords` for prose with commands: text in backquotes is never broken. */
export function wrapProse(text: string, columns: number): string {
  const glued = text.replaceAll(/`[^`\n]*`/g, (command) => command.replaceAll(' ', '\u00a0'));
  return glued
    .split('\n')
    .flatMap((line) => wrapWords(line, columns))
    .join('\n')
    .replaceAll('\u00a0', ' ');
}

import measure from 'fast-string-truncated-width';

/** In columns of the terminal: East Asian wide characters take two, colours none. */
export function cellWidth(text: string): number {
  return measure(text).width;
}

/** Lines of at most so many columns, broken at spaces; a longer word has a line of its own. */
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

import { stripVTControlCharacters } from 'node:util';
import { aligned } from '@goshawk/core';

const STYLES = { bold: [1, 22], dim: [2, 22], red: [31, 39], green: [32, 39], yellow: [33, 39] } as const;

export type Ink = keyof typeof STYLES;
export type Painter = (text: string, ink: Ink) => string;

/** Colours where they are wanted; the text as it is elsewhere. */
export function painter(color: boolean): Painter {
  return (text, ink) => (color ? `\u001b[${STYLES[ink][0]}m${text}\u001b[${STYLES[ink][1]}m` : text);
}

/** Text from outside, without what would move the cursor or change colours. */
export function plain(text: string): string {
  return stripVTControlCharacters(text).replaceAll(/\p{Cc}/gu, ' ');
}

/** Of the widest line, without its colours. */
export function widthOf(text: string): number {
  return Math.max(...text.split('\n').map((line) => stripVTControlCharacters(line).length));
}

/** Lines, broken at spaces, so that none is longer than `columns`, where words allow. */
export function wrapped(text: string, columns: number): string[] {
  const lines: string[] = [];
  for (const word of text.split(' ')) {
    const longer = `${lines.at(-1)} ${word}`;
    if (lines.length > 0 && widthOf(longer) <= columns) lines[lines.length - 1] = longer;
    else lines.push(word);
  }
  return lines;
}

/** Rows without rules: two spaces between columns, numbers to the right. */
export function textTable(rows: readonly (readonly string[])[]): string {
  return aligned(rows, widthOf).join('\n');
}

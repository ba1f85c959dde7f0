import { aligned, cellWidth } from '@goshawk/core';

export { plain, wrapWords } from '@goshawk/core';

const STYLES = { bold: [1, 22], dim: [2, 22], red: [31, 39], green: [32, 39], yellow: [33, 39] } as const;

export type Ink = keyof typeof STYLES;
export type Painter = (text: string, ink: Ink) => string;

/** Colours where they are wanted; the text as it is elsewhere. */
export function painter(color: boolean): Painter {
  return (text, ink) => (color ? `\u001b[${STYLES[ink][0]}m${text}\u001b[${STYLES[ink][1]}m` : text);
}

/** Returns the width of the widest line. */
export function widthOf(text: string): number {
  return Math.max(...text.split('\n').map(cellWidth));
}

/** Rows without rules: two spaces between columns, numbers to the right. */
export function textTable(rows: readonly (readonly string[])[]): string {
  return aligned(rows).join('\n');
}

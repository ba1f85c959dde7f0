import { aligned, cellWidth } from '@goshawk/core';

/** Returns the width of the widest line. */
export function widthOf(text: string): number {
  return Math.max(...text.split('\n').map(cellWidth));
}

/** Renders rows without rules: two spaces between columns, numbers to the right. */
export function textTable(rows: readonly (readonly string[])[]): string {
  return aligned(rows).join('\n');
}

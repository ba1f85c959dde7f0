import type { Context } from '../context.js';
import { cut } from './width.js';

/** Shows a page on a terminal in place of the one before. */
export function redrawing({ out, columns }: Pick<Context, 'out' | 'columns'>): (page: string) => void {
  let drawn = 0;
  return (page) => {
    const clipped = clipLines(page, columns);
    // Up to where the page before began, and away with it.
    out(`${drawn > 0 ? `\u001b[${drawn}A\u001b[J` : ''}${clipped}`);
    drawn = clipped.split('\n').length;
  };
}

/** Each line cut to so many columns, its colours kept; so that none wraps. */
export function clipLines(text: string, columns: number): string {
  return text
    .split('\n')
    .map((line) => cut(line, columns))
    .join('\n');
}

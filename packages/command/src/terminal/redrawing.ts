import type { Context } from '../context.js';
import { cut } from './width.js';

/** Returns a function that replaces the previous page on a terminal, cut to the size of the terminal. */
export function redrawing({ out, stdout }: Pick<Context, 'out' | 'stdout'>): (page: string) => void {
  let drawn = 0;
  return (page) => {
    // The size may change; a terminal of unknown size reports 0.
    const columns = stdout.columns || 100;
    // The last line is reserved for the cursor.
    const room = (stdout.rows || Number.POSITIVE_INFINITY) - 1;
    const all = page.split('\n');
    const shown = all.length > room ? [...all.slice(0, Math.max(0, room - 1)), '…'] : all;
    const lines = shown.map((line) => cut(line, columns));
    // Moves to the start of the previous page and erases it.
    out(`${drawn > 0 ? `\u001b[${drawn}A\u001b[J` : ''}${lines.join('\n')}`);
    drawn = lines.length;
  };
}

import type { Context } from '../context.js';
import { cut } from './width.js';

/** Shows a page on a terminal in place of the one before, as much of it as the terminal has room for. */
export function redrawing({ out, stdout }: Pick<Context, 'out' | 'stdout'>): (page: string) => void {
  let drawn = 0;
  return (page) => {
    // Read each time: a terminal that does not know its size says 0, and its user may change it.
    const columns = stdout.columns || 100;
    // The cursor has the last line.
    const room = (stdout.rows || Number.POSITIVE_INFINITY) - 1;
    const all = page.split('\n');
    const shown = all.length > room ? [...all.slice(0, Math.max(0, room - 1)), '…'] : all;
    const lines = shown.map((line) => cut(line, columns));
    // Up to where the page before began, and away with it.
    out(`${drawn > 0 ? `\u001b[${drawn}A\u001b[J` : ''}${lines.join('\n')}`);
    drawn = lines.length;
  };
}

/**
 * Returns a row of CSV (RFC 4180). Text that a spreadsheet would read as a formula gets a leading apostrophe,
 * so that output of tasks cannot run in a spreadsheet. Numbers, such as `-0.5`, stay as they are.
 */
export function csvRow(cells: readonly (string | number | null)[]): string {
  return cells.map(cellOf).join(',');
}

function cellOf(cell: string | number | null): string {
  if (typeof cell !== 'string') return cell === null ? '' : String(cell);
  const text = /^[=+\-@\t\r]/.test(cell) && !NUMBER.test(cell) ? `'${cell}` : cell;
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

const NUMBER = /^[+-]?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?$/;

/**
 * Parses CSV (RFC 4180) with LF or CRLF and an optional byte order mark. Empty lines are skipped.
 *
 * @returns rows with their line numbers, from 1
 * @throws SyntaxError with the line of a quote that is out of place or never closed
 */
export function parseCsv(text: string): { readonly line: number; readonly cells: readonly string[] }[] {
  const rows: { line: number; cells: string[] }[] = [];
  const content = text.startsWith('\ufeff') ? text.slice(1) : text;
  // A cell, quoted or not, and what ends it.
  const cell = /(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\r?\n|$)/y;
  let cells: string[] = [];
  let line = 1;
  for (let first = line; cell.lastIndex < content.length || cells.length > 0; ) {
    const found = cell.exec(content);
    if (found === null)
      throw new SyntaxError(
        `line ${line} has a quote or carriage return out of place, or a quote that is never closed`,
      );
    const [whole, quoted, plain = '', end] = found;
    cells.push(quoted?.replaceAll('""', '"') ?? plain);
    line += whole.split('\n').length - 1;
    if (end === ',') continue;
    if (cells.length > 1 || quoted !== undefined || plain !== '') rows.push({ line: first, cells });
    cells = [];
    first = line;
  }
  return rows;
}

/**
 * Returns a row of CSV (RFC 4180). Text that a spreadsheet would read as a formula gets a leading apostrophe,
 * so that output of tasks cannot run in a spreadsheet.
 */
export function csvRow(cells: readonly (string | number | null)[]): string {
  return cells.map(cellOf).join(',');
}

function cellOf(cell: string | number | null): string {
  if (typeof cell !== 'string') return cell === null ? '' : String(cell);
  const text = /^[=+\-@\t\r]/.test(cell) ? `'${cell}` : cell;
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

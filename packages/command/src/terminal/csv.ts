/**
 * A row of CSV (RFC 4180). A text that a spreadsheet would take for a formula gets an apostrophe in front: what tasks print
 * must not run where somebody opens the file.
 */
export function csvRow(cells: readonly (string | number | null)[]): string {
  return cells.map(cellOf).join(',');
}

function cellOf(cell: string | number | null): string {
  if (typeof cell !== 'string') return cell === null ? '' : String(cell);
  const text = /^[=+\-@\t\r]/.test(cell) ? `'${cell}` : cell;
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

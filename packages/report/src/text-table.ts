import Table from 'cli-table3';

export type Cell = string | { content: string; colSpan?: number; hAlign?: 'left' | 'center' | 'right' };

/** Rows without rules: two spaces between columns, numbers to the right. */
export function bare(rows: readonly (readonly Cell[])[]): string {
  const none = Object.fromEntries(
    ['top', 'bottom', 'left', 'right', 'mid', 'middle']
      .flatMap((side) => [side, `${side}-mid`, `${side}-left`, `${side}-right`, `mid-mid`])
      .map((name) => [name, '']),
  );
  const table = new Table({
    chars: { ...none, middle: '  ' },
    style: { head: [], border: [], 'padding-left': 0, 'padding-right': 0, compact: true },
    colAligns: ['left', ...Array.from({ length: 16 }, () => 'right' as const)],
  });
  table.push(...rows.map((row) => [...row]));
  return table
    .toString()
    .split('\n')
    .map((line) => line.trimEnd())
    .join('\n');
}

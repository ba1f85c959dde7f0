import { type Column, cellWidth, type Painter, paintState, plain, renderTable } from '@goshawk/command';
import { formatBytes, formatDuration, type Millis, type TaskRow, taskAddress } from '@goshawk/core';
import { clockTime } from './local-time.js';

const MEMORY: Column<TaskRow> = {
  title: 'memory',
  align: 'right',
  expendable: 2,
  of: ({ maxRssBytes }) => (maxRssBytes === undefined ? '' : formatBytes(maxRssBytes)),
};

/** Renders a table of tasks in parts: columns never get narrower, and only the first part has a heading. */
export class TasksTable {
  readonly #columns: readonly Column<TaskRow>[];
  readonly #widths: number[];
  readonly #paint: Painter;
  #hasBegun = false;

  /**
   * @param of `isMeasured`: whether the memory use of tasks is known; `last`: the highest possible index
   * @param now wall clock, ms since 1970
   */
  constructor(
    {
      submittedAt,
      isStaged,
      isMeasured,
      last,
    }: { submittedAt: Millis; isStaged: boolean; isMeasured: boolean; last: number },
    now: Millis,
    paint: Painter,
  ) {
    const started = ({ startedMs }: TaskRow) =>
      startedMs === undefined ? '' : clockTime(submittedAt + startedMs, now);
    this.#columns = [
      { title: 'task', align: 'right', of: ({ index }) => `${index}` },
      ...(isStaged ? [{ title: 'stage', shrinkTo: 8, of: ({ stage }: TaskRow) => plain(stage) }] : []),
      {
        title: 'state',
        of: ({ state, lentTo, toChild = false }) =>
          lentTo === undefined || toChild ? paintState(state, paint) : paint.yellow('paused'),
      },
      { title: 'try', align: 'right', of: ({ attempt }) => (attempt === 0 ? '' : `${attempt}`) },
      { title: 'worker', shrinkTo: 8, of: ({ worker = '' }) => plain(worker) },
      { title: 'exit', align: 'right', of: ({ exitCode = '' }) => `${exitCode}` },
      { title: 'started', align: 'right', expendable: 1, of: started },
      { title: 'ran', align: 'right', of: ranWords },
      ...(isMeasured ? [MEMORY] : []),
      { title: 'error', shrinkTo: 8, of: ({ error = '' }) => plain(error) },
    ];
    this.#widths = this.#columns.map(({ title }) => (title === 'task' ? `${last}`.length : 0));
    this.#paint = paint;
  }

  /** Renders the next rows, at least one. */
  render(tasks: readonly TaskRow[]): string {
    const rows = tasks.map((task) => this.#columns.map(({ of }) => of(task)));
    rows.forEach((row) => {
      // The last column, which has errors of any length, needs no padding.
      for (let at = 0; at < row.length - 1; at++)
        this.#widths[at] = Math.max(this.#widths[at]!, cellWidth(row[at]!));
    });
    const columns = this.#columns.map((column, at) => ({
      ...column,
      width: this.#widths[at]!,
      of: (cells: readonly string[]) => cells[at]!,
    }));
    const text = renderTable(columns, rows, this.#paint);
    const begins = this.#hasBegun ? text.indexOf('\n') + 1 : 0;
    this.#hasBegun = true;
    return text.slice(begins);
  }
}

/** Run time of the last attempt, how long it was paused besides, and whose CPUs it uses. */
function ranWords({ runMs, pausedMs = 0, borrows, borrowedFrom = [] }: TaskRow): string {
  if (runMs === undefined) return '';
  const beside =
    borrows && borrowedFrom.length > 0
      ? ` on the CPU of ${plain(borrowedFrom.map(taskAddress).join(', '))}`
      : '';
  return `${formatDuration(runMs)}${pausedMs > 0 ? ` + ${formatDuration(pausedMs)} paused` : ''}${beside}`;
}

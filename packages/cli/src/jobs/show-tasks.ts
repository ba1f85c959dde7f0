import type { JobHandle, Tasks, TasksOptions } from '@goshawk/client';
import { type Context, painter } from '@goshawk/command';
import { type TaskRange, type TaskRow, taskJson } from '@goshawk/core';
import { writeTasksCsv } from './results-csv.js';
import { TasksTable } from './tasks-table.js';

type Listing = Omit<TasksOptions, 'signal'> & {
  readonly from: number;
  readonly limit: number;
  /** Only these tasks. */
  readonly ranges?: readonly TaskRange[] | undefined;
};

/** Prints tasks page by page, so that a job of a million tasks takes no more memory than a small one. */
export async function showTasks(
  context: Context,
  job: Pick<JobHandle, 'id' | 'describe' | 'tasksPage' | 'resultsPage'>,
  { limit, ranges, ...options }: Listing,
  format: 'text' | 'json' | 'csv',
): Promise<void> {
  const asked = { ...options, signal: context.interrupted };
  const pages = ranges === undefined ? pagesOf(job, asked, limit) : pageOfRanges(job, asked, ranges, limit);
  if (format === 'json') await writeJson(context, job.id, pages, options.from);
  else if (format === 'csv') noteRest(context, await writeTasksCsv(context, job, pages));
  else await writeTable(context, job, pages, options.from);
}

/** Yields pages up to the limit; the last one has the next index if more tasks follow. */
async function* pagesOf(
  job: Pick<JobHandle, 'tasksPage'>,
  options: TasksOptions,
  limit: number,
): AsyncGenerator<Tasks> {
  let left = limit;
  for (let { from } = options; ; ) {
    const page = await job.tasksPage({ ...options, from, ...(Number.isFinite(left) ? { limit: left } : {}) });
    yield page;
    left -= page.tasks.length;
    if (page.next === undefined || left <= 0) return;
    from = page.next;
  }
}

/** Yields the tasks of some ranges as one page. */
async function* pageOfRanges(
  job: Pick<JobHandle, 'tasksPage'>,
  options: TasksOptions,
  ranges: readonly TaskRange[],
  limit: number,
): AsyncGenerator<Tasks> {
  const tasks: TaskRow[] = [];
  let total = 0;
  let next: number | undefined;
  let submittedAt = 0;
  for (const { first, last } of ranges) {
    for (let from: number | undefined = first; from !== undefined && from <= last; ) {
      const page: Tasks = await job.tasksPage({ ...options, from, limit: last - from + 1 });
      submittedAt = page.submittedAt;
      for (const task of page.tasks) {
        if (task.index > last) break;
        total++;
        if (task.index < (options.from ?? 0)) continue;
        if (tasks.length < limit) tasks.push(task);
        else next ??= task.index;
      }
      from = page.next;
    }
  }
  yield { tasks, total, next, submittedAt };
}

/** Writes `goshawk.tasks/1` on one line, page by page, because a million tasks would need too much memory. */
async function writeJson(
  context: Context,
  job: string,
  pages: AsyncIterable<Tasks>,
  from: number,
): Promise<void> {
  let listed = 0;
  let total = 0;
  let next: number | null = null;
  let before = `{"schema":"goshawk.tasks/1","job":${JSON.stringify(job)},"tasks":[`;
  for await (const page of pages) {
    const rows = page.tasks.map((task) => JSON.stringify(taskJson(task, page.submittedAt)));
    context.stdout.write(`${before}${rows.join(',')}`);
    before = ',';
    listed += rows.length;
    total = page.total;
    next = page.next ?? null;
  }
  // Task states may change between pages, so the total of a complete list is the number of listed tasks.
  if (next === null && from === 0) total = listed;
  context.stdout.write(`],"total":${total},"truncated":${next !== null},"next":${next}}\n`);
}

async function writeTable(
  context: Context,
  job: Pick<JobHandle, 'describe'>,
  pages: AsyncIterable<Tasks>,
  from: number,
): Promise<void> {
  const { stages, tasks } = await job.describe({ signal: context.interrupted });
  let table: TasksTable | undefined;
  let next: number | undefined;
  for await (const page of pages) {
    table ??= new TasksTable(
      {
        submittedAt: page.submittedAt,
        isStaged: stages.length > 1,
        isMeasured: page.tasks.some(({ maxRssBytes }) => maxRssBytes !== undefined),
        // Indices of a job that retries selected tasks of another may have gaps.
        last: Math.max(tasks.total - 1, page.next ?? page.tasks.at(-1)?.index ?? 0),
      },
      Date.now(),
      painter(context),
    );
    if (page.tasks.length > 0) context.out(table.render(page.tasks));
    else context.note(page.total > 0 && from > 0 ? 'no more tasks' : 'no such tasks');
    next = page.next;
  }
  noteRest(context, next);
}

function noteRest(context: Context, next: number | undefined): void {
  if (next !== undefined) context.note(`there are more tasks; continue with --from ${next}`);
}

import type { JobHandle, TaskResult, Tasks } from '@goshawk/client';
import type { Context } from '@goshawk/command';
import { counted, csvRow, taskJson } from '@goshawk/core';
import { commandOf, isPlain, type Payloads, parametersOf, payloadsOf } from './task-parameters.js';

type TaskColumn = keyof ReturnType<typeof taskJson>;

/** Columns before the parameters, and after them. */
const BEFORE = ['index', 'stage'] as const satisfies readonly TaskColumn[];
const AFTER = [
  'state',
  'attempt',
  'worker',
  'exitCode',
  'startedAt',
  'endedAt',
  'runSeconds',
  'pausedSeconds',
  'maxRssBytes',
  'error',
] as const satisfies readonly TaskColumn[];

/** Maximum number of fields of values that get their own columns; with more, the values are JSON in one column. */
const FIELDS_MAX = 1_000;

type Listed = Pick<JobHandle, 'describe' | 'resultsPage'>;

/**
 * Prints a table of tasks as CSV, a row per task: its parameters, state, times and command, and the value that it returned. The fields
 * of values that are objects are columns, other values are in the column `value`. A parameter or field whose name is taken gets
 * the prefix `param.` or `value.`.
 *
 * @returns the next index if there are more tasks than the listing contains
 */
export async function writeTasksCsv(
  context: Context,
  job: Listed,
  pages: AsyncIterable<Tasks>,
): Promise<number | undefined> {
  const signal = context.interrupted;
  const payloads = await payloadsOf(job, signal);
  if (payloads === undefined) context.note('the job is too large for columns of its parameters and commands');
  const hasValues = payloads === undefined || mayReturn(payloads);
  const params = new Set<string>();
  for (const payload of payloads?.distinct() ?? [])
    for (const name of Object.keys(parametersOf(payload))) params.add(name);
  const values = hasValues ? await valueColumns(job, signal) : { fields: [], hasOthers: false };

  const taken = new Set<string>([...BEFORE, ...AFTER, 'command', ...(values.hasOthers ? ['value'] : [])]);
  const titled = (names: Iterable<string>, prefix: string): string[] =>
    [...names].map((name) => {
      let title = name;
      while (taken.has(title)) title = `${prefix}.${title}`;
      taken.add(title);
      return title;
    });
  const titles = [
    ...BEFORE,
    ...titled(params, 'param'),
    ...AFTER,
    'command',
    ...(values.hasOthers ? ['value'] : []),
    ...titled(values.fields, 'value'),
  ];
  context.out(csvRow(titles));

  const known = new Set(values.fields);
  let unknown = 0;
  let next: number | undefined;
  for await (const page of pages) {
    const results = hasValues ? await resultsOf(job, page, signal) : new Map<number, TaskResult>();
    const rows = page.tasks.map((task) => {
      const cells = taskJson(task, page.submittedAt);
      const payload = payloads?.of(task.index);
      const given = payload === undefined ? {} : parametersOf(payload);
      const value = results.get(task.index)?.value ?? null;
      const fields = isPlain(value) && !(values.hasOthers && known.size === 0) ? value : undefined;
      if (fields !== undefined && Object.keys(fields).some((field) => !known.has(field))) unknown++;
      return csvRow([
        ...BEFORE.map((column) => cells[column]),
        ...[...params].map((name) => cellOf(given[name] ?? null)),
        ...AFTER.map((column) => cells[column]),
        payload === undefined ? '' : commandOf(payload),
        ...(values.hasOthers ? [fields === undefined ? cellOf(value) : null] : []),
        ...values.fields.map((field) => cellOf(fields?.[field] ?? null)),
      ]);
    });
    if (rows.length > 0) context.out(rows.join('\n'));
    next = page.next;
  }
  if (unknown > 0)
    context.note(
      `${counted(unknown, 'value')} arrived with new fields while the table was printed: run it again`,
    );
  return next;
}

function mayReturn(payloads: Payloads): boolean {
  for (const payload of payloads.distinct())
    if ('module' in payload || ('exec' in payload && payload.returns === true)) return true;
  return false;
}

/** Reads all values for their fields. They are read again for the rows, because those of a large job do not fit into memory. */
async function valueColumns(
  job: Listed,
  signal: AbortSignal,
): Promise<{ readonly fields: readonly string[]; readonly hasOthers: boolean }> {
  const fields = new Set<string>();
  let hasOthers = false;
  for (let from: number | undefined = 0; from !== undefined; ) {
    const { results, next } = await job.resultsPage({ from, pages: 1, signal });
    for (const { value } of results) {
      if (isPlain(value)) for (const field of Object.keys(value)) fields.add(field);
      else if (value !== null) hasOthers = true;
    }
    if (fields.size > FIELDS_MAX) return { fields: [], hasOthers: true };
    from = next;
  }
  return { fields: [...fields], hasOthers };
}

/** Returns the results of the tasks of a page by index. */
async function resultsOf(
  job: Listed,
  { tasks }: Tasks,
  signal: AbortSignal,
): Promise<Map<number, TaskResult>> {
  const found = new Map<number, TaskResult>();
  const last = tasks.at(-1)?.index ?? -1;
  for (let from = tasks[0]?.index; from !== undefined && from <= last; ) {
    const { results, next }: Awaited<ReturnType<Listed['resultsPage']>> = await job.resultsPage({
      from,
      max: last - from + 1,
      pages: 1,
      signal,
    });
    for (const result of results) found.set(result.index, result);
    from = next;
  }
  return found;
}

/** Returns text and numbers unchanged, anything else as JSON. */
function cellOf(value: unknown): string | number | null {
  if (value === null || typeof value === 'string' || typeof value === 'number') return value;
  return JSON.stringify(value) ?? null;
}

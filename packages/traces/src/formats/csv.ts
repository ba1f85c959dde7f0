import { present } from '@goshawk/core';
import { WorkloadError } from '../errors.js';
import { type HeadedRow, readHeadedCsv } from '../features/headed-csv.js';
import { JobPacker, type PackedJobs } from '../packed-jobs.js';
import { emptyTrace } from './lines.js';
import type { TraceFormat } from './trace-format.js';

/** Rows of a batch. */
const BATCH_JOBS = 10_000;
/** A file may name the columns with their unit, as spreadsheets do. */
const SPELLINGS = {
  submit: ['submit', 'submit_s', 'submit_seconds', 'submitSeconds'],
  tasks: ['tasks', 'n_tasks', 'num_tasks'],
  duration: ['duration', 'duration_s', 'duration_seconds', 'durationSeconds'],
} as const;
const LAYOUT = '`submit,tasks,duration`, in seconds; `name`, `user` and `estimate` may stand beside them';

/** A job a row, all of its tasks of one duration: what a spreadsheet or a query exports. */
export const csv = {
  name: 'csv',
  description: `a job a row under a line that names the columns: ${LAYOUT}; gzip'd or not`,
  endings: ['.csv'],
  recognises: (firstLine) => {
    const names = firstLine
      .trim()
      .split(',')
      .map((name) => name.trim());
    return columnIn(names, 'submit') !== undefined && columnIn(names, 'duration') !== undefined;
  },
  read: readCsv,
} as const satisfies TraceFormat;

function columnIn(names: readonly string[], of: keyof typeof SPELLINGS): string | undefined {
  return names.find((name) => (SPELLINGS[of] as readonly string[]).includes(name));
}

/** @throws WorkloadError with file and line at the first row that is wrong, or when there is no job */
async function* readCsv(file: string): AsyncGenerator<PackedJobs> {
  const packer = new JobPacker();
  let isEmpty = true;
  for await (const row of readHeadedCsv(file, [])) {
    isEmpty = false;
    addJob(packer, row);
    if (packer.jobs === BATCH_JOBS) yield packer.take();
  }
  if (packer.jobs > 0) yield packer.take();
  if (isEmpty) throw emptyTrace(file, `each row is a job: ${LAYOUT}`);
}

function addJob(packer: JobPacker, row: HeadedRow): void {
  const amount = (of: keyof typeof SPELLINGS): number | undefined => {
    for (const column of SPELLINGS[of]) {
      const value = row.amount(column);
      if (value !== undefined) return value;
    }
    return undefined;
  };
  const [submit, duration, tasks = 1] = [amount('submit'), amount('duration'), amount('tasks')];
  if (submit === undefined || duration === undefined) {
    throw wrong(row, `the ${submit === undefined ? 'submit' : 'duration'} is empty`, 'each row has both');
  }
  if (!Number.isSafeInteger(tasks) || tasks < 1) {
    throw wrong(row, `the number of tasks is ${tasks}`, 'it is a whole number, one or more');
  }
  const [name, user, estimateSeconds] = [row.text('name'), row.text('user'), row.amount('estimate')];
  packer.roomFor(tasks).fill(duration);
  packer.close(submit, duration, tasks, {
    ...present({ name, user, estimateSeconds }),
  });
}

function wrong({ file, line }: HeadedRow, problem: string, advice: string): WorkloadError {
  return new WorkloadError(problem, advice, { file, line });
}

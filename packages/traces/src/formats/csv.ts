import { present } from '@goshawk/core';
import { WorkloadError } from '../errors.js';
import { BATCH_JOBS, JobPacker, type PackedJobs } from '../packed-jobs.js';
import { type HeadedRow, readHeadedCsv } from './csv-rows.js';
import type { TraceFormat } from './trace-format.js';

/** A file may name the columns with their unit, as spreadsheets do. */
const SPELLINGS = {
  submit: ['submit', 'submit_s', 'submit_seconds', 'submitSeconds'],
  tasks: ['tasks', 'n_tasks', 'num_tasks'],
  duration: ['duration', 'duration_s', 'duration_seconds', 'durationSeconds'],
} as const;
const NAMES: readonly string[] = Object.values(SPELLINGS).flat();
const LAYOUT = '`submit,tasks,duration`, in seconds; `name`, `user` and `estimate` may stand beside them';

/** A job a row, all of its tasks of one duration: what a spreadsheet or a query exports. */
export const csv = {
  name: 'csv',
  aJob: `each row is a job: ${LAYOUT}`,
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

/** @throws WorkloadError with file and line at the first row that is wrong */
async function* readCsv(file: string): AsyncGenerator<PackedJobs> {
  const packer = new JobPacker();
  for await (const row of readHeadedCsv(file, [], NAMES)) {
    addJob(packer, row);
    if (packer.jobs === BATCH_JOBS) yield packer.take();
  }
  yield packer.take();
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
    throw new WorkloadError(
      `the ${submit === undefined ? 'submit' : 'duration'} is empty`,
      'each row has both',
      row,
    );
  }
  if (!Number.isSafeInteger(tasks) || tasks < 1) {
    throw new WorkloadError(`the number of tasks is ${tasks}`, 'it is a whole number, one or more', row);
  }
  const [name, user, estimateSeconds] = [row.text('name'), row.text('user'), row.amount('estimate')];
  packer.roomFor(tasks).fill(duration);
  packer.close(submit, duration, tasks, {
    ...present({ name, user, estimateSeconds }),
  });
}

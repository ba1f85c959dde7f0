import { type PackedJobs, packed } from '../../packed-jobs.js';
import { Tally } from '../../tally.js';
import { decimal } from '../fields.js';
import { checkLength, type Row, readRecords, wrongCell } from '../table.js';
import type { TraceFormat } from '../trace-format.js';
import { EventType, TASK_EVENTS } from './events.js';
import { Join } from './join.js';

/** Shift of all times in µs: time 0 means "before the trace started" in the official tables, but is the start of a sample. */
const SHIFT_US = 1;

/**
 * A sample of `task_events` of the 2011 Google trace in one file with a header, as shipped with simulators. Without
 * `job_events`, a job is submitted with its first task and ends with its last.
 */
export const google2011Sample = {
  name: 'google2011-sample',
  sample: 'task-events-sample.csv',
  aJob: 'no job of the sample has a finished task',
  endings: ['.csv'],
  recognises: (firstLine) => {
    const cells = firstLine.toLowerCase().split(',');
    return cells.length === TASK_EVENTS.columns && /^#?\s*"?time/.test(cells[0]!) && /job/.test(cells[2]!);
  },
  read: readSample,
} as const satisfies TraceFormat;

/** @throws WorkloadError with file and line at the first invalid row */
async function* readSample(
  file: string,
  tally = new Tally(),
  signal?: AbortSignal,
): AsyncGenerator<PackedJobs> {
  const join = new Join(tally);
  let isHeader = true;
  let latestUs = 0;
  for await (const row of readRecords(file, { delimiter: ',', hasQuotes: true }, signal)) {
    if (isHeader) {
      isHeader = false;
      continue;
    }
    checkLength(row, TASK_EVENTS.columns);
    const timeUs = numberAt(row, 0, 'time') + SHIFT_US;
    if (timeUs < latestUs)
      throw wrongCell(row, 0, 'time', 'rows must be in order of time: sort the file by its first column');
    latestUs = timeUs;
    const [job, task] = [numberAt(row, 2, 'job id'), numberAt(row, 3, 'task index')];
    const type = numberAt(row, 5, 'event type');
    if (type > EventType.updateRunning)
      throw wrongCell(row, 5, 'event type', 'it must be a number from 0 to 8');
    const user = row.cells[6]!;
    const schedulingClass = row.cells[7] === '' ? undefined : numberAt(row, 7, 'scheduling class');
    const request = { cpu: shareAt(row, 9), memory: shareAt(row, 10), disk: shareAt(row, 11) };
    join.onSampledTaskEvent(
      { timeUs, job, task, type: type as EventType, request },
      { user, name: '', logicalName: '', schedulingClass },
    );
  }
  join.onEnd();
  const jobs = join.take().map((job) => ({
    ...job,
    submitSeconds: Math.round(job.submitSeconds * 1e6 - SHIFT_US) / 1e6,
  }));
  yield packed(jobs);
}

function numberAt(row: Row, column: number, name: string): number {
  const value = decimal(row.cells[column]!);
  if (Number.isSafeInteger(value) && value >= 0) return value;
  throw wrongCell(row, column, name, 'it must be a whole number');
}

function shareAt(row: Row, column: number): number {
  const text = row.cells[column]!;
  const value = text === '' ? 0 : decimal(text);
  if (value >= 0 && value <= 1) return value;
  throw wrongCell(row, column, 'request', 'it must be a share of the largest machine, from 0 to 1');
}

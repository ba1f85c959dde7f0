import { WorkloadError } from '../../errors.js';
import type { MachineShare } from '../../job.js';
import { CsvRow } from '../csv-rows.js';
import { readLineBatches } from '../files.js';

/** Event types of jobs and tasks in the official schema. */
export const EventType = {
  submit: 0,
  schedule: 1,
  evict: 2,
  fail: 3,
  finish: 4,
  kill: 5,
  lost: 6,
  updatePending: 7,
  updateRunning: 8,
} as const;
export type EventType = (typeof EventType)[keyof typeof EventType];

/** A row of job_events. The trace starts at 600 s; time 0 means "before it started", and 2^63 − 1 "after its end". */
export interface JobEvent {
  readonly timeUs: number;
  readonly job: number;
  readonly type: EventType;
  readonly user: string;
  readonly schedulingClass: number | undefined;
  readonly name: string;
  readonly logicalName: string;
}

/** A row of task_events. */
export interface TaskEvent {
  readonly timeUs: number;
  readonly job: number;
  readonly task: number;
  readonly type: EventType;
  /** Request of a submission, if recorded. */
  readonly request: MachineShare | undefined;
}

/** A table: the number of its columns, and the conversion of a row. */
interface Schema<Event> {
  readonly columns: number;
  readonly parse: (row: CsvRow) => Event;
}

export const JOB_EVENTS: Schema<JobEvent> = {
  columns: 8,
  parse: (row) => ({
    timeUs: row.wholeNumber(0, 'time'),
    job: row.wholeNumber(2, 'job id'),
    type: eventType(row, 3),
    user: row.text(4),
    schedulingClass: row.isEmpty(5) ? undefined : row.wholeNumber(5, 'scheduling class'),
    name: row.text(6),
    logicalName: row.text(7),
  }),
};

export const TASK_EVENTS: Schema<TaskEvent> = {
  columns: 13,
  parse: (row) => {
    const type = eventType(row, 5);
    return {
      timeUs: row.wholeNumber(0, 'time'),
      job: row.wholeNumber(2, 'job id'),
      task: row.wholeNumber(3, 'task index'),
      type,
      // The other rows of a task repeat it.
      request: type === EventType.submit ? request(row) : undefined,
    };
  },
};

function request(row: CsvRow): MachineShare | undefined {
  const cpu = row.amount(9, 'CPU request');
  const memory = row.amount(10, 'memory request');
  const disk = row.amount(11, 'disk request');
  if (cpu === undefined && memory === undefined && disk === undefined) return undefined;
  return { cpu: cpu ?? 0, memory: memory ?? 0, disk: disk ?? 0 };
}

function eventType(row: CsvRow, column: number): EventType {
  const type = row.wholeNumber(column, 'event type');
  if (type > EventType.updateRunning)
    throw row.wrong(column, 'event type', 'it must be a number from 0 to 8');
  return type as EventType;
}

/**
 * Reads events of a table in batches, part after part.
 *
 * @param parts files in order of time
 * @throws WorkloadError with file and line at the first row that is invalid or out of order
 */
export async function* readEvents<Event extends { readonly timeUs: number }>(
  parts: readonly string[],
  schema: Schema<Event>,
  signal?: AbortSignal,
): AsyncGenerator<Event[]> {
  let latestUs = 0;
  for (const file of parts) {
    const row = new CsvRow(file);
    for await (const lines of readLineBatches(file, signal)) {
      const events: Event[] = [];
      for (const text of lines) {
        row.next(text);
        if (row.isBlank) continue;
        row.expectColumns(schema.columns);
        const event = schema.parse(row);
        if (event.timeUs < latestUs) throw backwards(row, event.timeUs, latestUs);
        latestUs = event.timeUs;
        events.push(event);
      }
      if (events.length > 0) yield events;
    }
    if (row.line === 0) throw new WorkloadError('the part is empty', 'copy or download it again', { file });
  }
}

function backwards(row: CsvRow, timeUs: number, latestUs: number): WorkloadError {
  return new WorkloadError(
    `time goes backwards: ${timeUs} µs comes after ${latestUs} µs`,
    'rows must be in order of time: copy or download the parts again, and keep their names',
    { file: row.file, line: row.line },
  );
}

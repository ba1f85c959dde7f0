import { present, type Resources } from '@goshawk/core';
import { WorkloadError } from '../errors.js';
import { jobOf, type TraceJob } from '../job.js';
import { inBatches, type PackedJobs } from '../packed-jobs.js';
import { Tally } from '../tally.js';
import { decimal, isTaskCount, TASKS_ADVICE } from './fields.js';
import { inRunningOrder, type StageInFile } from './stages.js';
import {
  checkHeader,
  checkLength,
  checkNotHeader,
  columnName,
  type Row,
  readRecords,
  tallyUnread,
  wrongCell,
} from './table.js';
import type { TraceFormat } from './trace-format.js';

const STATES = ['Terminated', 'Failed', 'Running', 'Waiting', 'Interrupted', 'Cancelled', 'Ready'];

/** A year's `batch_task` table: its columns in order, with the names used here. */
interface Schema {
  readonly columns: readonly string[];
  readonly job: string;
  readonly stage: string;
  readonly status: string;
  readonly start: string;
  readonly end: string;
  /** Other names of columns, with `_` for blanks. */
  readonly aliases: Readonly<Record<string, string>>;
  /** Number of CPUs for a `plan_cpu` of 1. */
  readonly cpus: number;
  /** Whether names of stages contain their predecessors. */
  readonly isOrdered: boolean;
}

const YEAR_2017: Schema = {
  columns: [
    'create_timestamp',
    'modify_timestamp',
    'job_id',
    'task_id',
    'instance_num',
    'status',
    'plan_cpu',
    'plan_mem',
  ],
  job: 'job_id',
  stage: 'task_id',
  status: 'status',
  start: 'create_timestamp',
  end: 'modify_timestamp',
  // The names in the `schema.csv` of the trace.
  aliases: {
    task_create_time: 'create_timestamp',
    task_end_time: 'modify_timestamp',
    number_of_instances: 'instance_num',
    number_of_cpus_requested_per_instance_in_the_task: 'plan_cpu',
    normalized_memory_requested_per_instance_in_the_task: 'plan_mem',
  },
  cpus: 1 / 100,
  isOrdered: false,
};

const YEAR_2018: Schema = {
  columns: [
    'task_name',
    'instance_num',
    'job_name',
    'task_type',
    'status',
    'start_time',
    'end_time',
    'plan_cpu',
    'plan_mem',
  ],
  job: 'job_name',
  stage: 'task_name',
  status: 'status',
  start: 'start_time',
  end: 'end_time',
  aliases: {},
  cpus: 1 / 100,
  isOrdered: true,
};

/**
 * `batch_task` of Alibaba's cluster traces of 2017 and 2018, with or without a header. A row is a stage of
 * its job, with one task per instance, all as long as the row. A job is submitted when its first row started
 * or was created.
 */
export const alibaba2017 = formatOf('alibaba2017', 'alibaba/batch_task_2017.csv', YEAR_2017);
export const alibaba2018 = formatOf('alibaba2018', 'alibaba/batch_task_2018.csv', YEAR_2018);

function formatOf<const Name extends string>(name: Name, sample: string, schema: Schema) {
  const { columns, status } = schema;
  return {
    name,
    sample,
    isForeign: true,
    aJob: `no row has ended: ${columns.join(', ')}`,
    endings: ['.csv'],
    recognises: (firstLine: string) => {
      const cells = firstLine.trim().split(',');
      return (
        isHeader(schema, cells) ||
        (cells.length === columns.length && STATES.includes(cells[columns.indexOf(status)]!.trim()))
      );
    },
    read: (file: string, tally?: Tally, signal?: AbortSignal) => readTable(file, schema, tally, signal),
  } as const satisfies TraceFormat;
}

/** The columns of a header, by the names used here. */
function columnsIn({ aliases }: Schema, header: readonly string[]): string[] {
  return header.map((cell) => {
    const name = columnName(cell).toLowerCase().replaceAll(' ', '_');
    return aliases[name] ?? name;
  });
}

function isHeader(schema: Schema, cells: readonly string[]): boolean {
  const columns = columnsIn(schema, cells);
  return [schema.job, schema.start, 'instance_num'].every((column) => columns.includes(column));
}

/** @throws WorkloadError if a header lacks a column or names one twice */
function checkColumns(schema: Schema, header: Row): void {
  const columns = columnsIn(schema, header.cells);
  checkHeader({ ...header, cells: columns });
  const { job, stage, status, start, end } = schema;
  const missing = [job, stage, 'instance_num', status, start, end].filter((name) => !columns.includes(name));
  if (missing.length === 0) return;
  throw new WorkloadError(
    `missing column ${missing.join(', ')}`,
    `the columns of the trace are ${schema.columns.join(', ')}`,
    header,
  );
}

/** The tasks of one row: Alibaba's task is a stage, and its instances are the scheduled units. */
interface Stage {
  readonly name: string;
  readonly instances: number;
  readonly start: number;
  readonly end: number;
  readonly demand: Resources | undefined;
}

/** The rows of a job. */
interface Rows {
  readonly stages: Stage[];
  /** Earliest submission of all rows, including failed ones. */
  submit: number;
}

/**
 * Reads jobs in order of their first rows. Rows of a job may be far apart, so all are kept until the end: about 300
 * bytes per row.
 *
 * @throws WorkloadError with file and line at the first invalid row
 */
async function* readTable(
  file: string,
  schema: Schema,
  tally = new Tally(),
  signal?: AbortSignal,
): AsyncGenerator<PackedJobs> {
  const rows = new Map<string, Rows>();
  let reader: RowReader | undefined;
  let header: readonly string[] | undefined;
  for await (const row of readRecords(file, { delimiter: ',', hasQuotes: true }, signal)) {
    if (reader === undefined) {
      const isFirst = isHeader(schema, row.cells);
      header = isFirst ? row.cells : undefined;
      if (isFirst) checkColumns(schema, row);
      reader = new RowReader(schema, isFirst ? columnsIn(schema, row.cells) : schema.columns, tally);
      if (isFirst) continue;
    }
    if (header !== undefined) checkNotHeader(row, header);
    reader.add(rows, row);
  }
  yield* inBatches(jobsOf(rows, schema, tally));
}

class RowReader {
  readonly #schema: Schema;
  readonly #places: ReadonlyMap<string, number>;
  readonly #width: number;
  readonly #tally: Tally;

  constructor(schema: Schema, columns: readonly string[], tally: Tally) {
    this.#schema = schema;
    this.#places = new Map(columns.map((name, place) => [name, place]));
    this.#width = columns.length;
    this.#tally = tally;
    tallyUnread(
      tally,
      columns.filter((name) => !schema.columns.includes(name) || name === 'task_type'),
    );
  }

  add(rows: Map<string, Rows>, row: Row): void {
    checkLength(row, this.#width);
    const { job: jobColumn, stage, status, start: startColumn, end: endColumn } = this.#schema;
    const job = this.#text(row, jobColumn);
    const isId = this.#schema.isOrdered ? !/^(-|nan|null|none|n\/a)?$/i.test(job) : /^\d+$/.test(job);
    if (!isId) {
      const advice = this.#schema.isOrdered ? 'each row needs one' : 'each row needs a whole number';
      throw wrongCell(row, this.#places.get(jobColumn)!, 'name of the job', advice);
    }
    const [start, end] = [this.#seconds(row, startColumn), this.#seconds(row, endColumn)];
    const own = rows.get(job) ?? { stages: [], submit: Number.POSITIVE_INFINITY };
    rows.set(job, own);
    // Failed stages also count for the submission time of the job.
    if (start) own.submit = Math.min(own.submit, start);
    if (this.#text(row, status) !== 'Terminated' || !start || !end || end < start) {
      return this.#tally.add({
        code: 'stages-not-ended',
        what: 'stages that did not complete, or that lack times: omitted',
      });
    }
    const instances = decimal(this.#text(row, 'instance_num'));
    if (!isTaskCount(instances))
      throw wrongCell(row, this.#places.get('instance_num')!, 'number of instances', TASKS_ADVICE);
    own.stages.push({ name: this.#text(row, stage), instances, start, end, demand: this.#demand(row) });
  }

  #text(row: Row, column: string): string {
    return row.cells[this.#places.get(column) ?? -1] ?? '';
  }

  #seconds(row: Row, column: string): number | undefined {
    const text = this.#text(row, column);
    if (text === '') return undefined;
    const seconds = decimal(text);
    // Negative times are before the start of the trace.
    if (Math.abs(seconds) <= 1e10) return seconds;
    throw wrongCell(
      row,
      this.#places.get(column) ?? 0,
      column.replace('_', ' '),
      'it must be a number of seconds',
    );
  }

  #demand(row: Row): Resources | undefined {
    const amount = (column: string): number | undefined => {
      const text = this.#text(row, column);
      if (text === '')
        this.#tally.add({
          code: `${column}-missing`,
          what: `stages without ${column}: read without this demand`,
        });
      const value = text === '' ? 0 : decimal(text);
      if (value >= 0 && value <= 1e9) return value === 0 ? undefined : value;
      throw wrongCell(row, this.#places.get(column) ?? 0, column, 'it must be a number of at least 0');
    };
    const cpu = amount('plan_cpu');
    const demand = present({
      cpu: cpu === undefined ? undefined : cpu * this.#schema.cpus,
      memory: amount('plan_mem'),
    });
    return Object.keys(demand).length === 0 ? undefined : (demand as Resources);
  }
}

function* jobsOf(rows: ReadonlyMap<string, Rows>, { isOrdered }: Schema, tally: Tally): Generator<TraceJob> {
  for (const [name, own] of rows) if (own.stages.length > 0) yield jobOfRows(name, own, isOrdered, tally);
}

function jobOfRows(name: string, { stages, submit }: Rows, isOrdered: boolean, tally: Tally): TraceJob {
  if (submit < 0)
    tally.add({
      code: 'jobs-before-trace',
      what: 'jobs submitted before the trace began: submitted at its start',
    });
  const submitSeconds = Math.max(0, submit);
  if (stages.length === 1) {
    const [{ instances, start, end, demand }] = stages as [Stage];
    const durations = new Float64Array(instances).fill(end - start);
    return { ...jobOf(submitSeconds, durations), name, ...present({ demand }) };
  }
  // Sorted by number, which is a topological order.
  const sorted = isOrdered
    ? [...stages].sort((a, b) => (numberOf(a.name) ?? 0) - (numberOf(b.name) ?? 0))
    : stages;
  const ordered = inRunningOrder(stagesOf(sorted, isOrdered, tally));
  // Stages depend only on lower numbers.
  if ('cycle' in ordered) throw new RangeError(`stage ${ordered.cycle} of ${name} depends on itself`);
  return { ...jobOf(submitSeconds, ordered.durationsSeconds), name, stages: ordered.stages };
}

function stagesOf(stages: readonly Stage[], isOrdered: boolean, tally: Tally): StageInFile[] {
  const placesOf = new Map<number, number[]>();
  return stages.map(({ name, instances, start, end, demand }, place) => {
    const number = isOrdered ? numberOf(name) : undefined;
    const wanted = number === undefined ? [] : numbersBehind(name).filter((before) => before < number);
    // Several rows may have the same number; all of them are predecessors.
    const after = wanted.flatMap((before) => placesOf.get(before) ?? []);
    const lost = wanted.filter((before) => !placesOf.has(before)).length;
    tally.add({ code: 'stages-before-missing', what: 'dependencies on missing stages: ignored' }, lost);
    if (number !== undefined) placesOf.set(number, [...(placesOf.get(number) ?? []), place]);
    return {
      // Two rows may have one name, but a job's stages may not.
      name: `${name}#${place}`,
      after,
      durationsSeconds: new Float64Array(instances).fill(end - start),
      ...present({ demand }),
    };
  });
}

/** `R5_2_3` is stage 5, after 2 and 3; names such as `task_…` have no order. */
const IN_ORDER = /^[A-Za-z]+(\d+)((?:_\d+)*)(?:_Stg\d+)?$/;

function numberOf(name: string): number | undefined {
  const found = IN_ORDER.exec(name)?.[1];
  return found === undefined ? undefined : Number(found);
}

function numbersBehind(name: string): number[] {
  return IN_ORDER.exec(name)![2]!.split('_').filter(Boolean).map(Number);
}

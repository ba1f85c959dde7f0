import { sumOf } from '@goshawk/core';
import { jobOf, type TraceJob, type TraceStage } from '../job.js';
import { inBatches, type PackedJobs } from '../packed-jobs.js';
import { Tally } from '../tally.js';
import { CsvRow } from './csv-rows.js';
import { readLineBatches } from './files.js';
import type { TraceFormat } from './trace-format.js';

const COLUMNS = 9;
const STATES = ['Terminated', 'Failed', 'Running', 'Waiting', 'Interrupted', 'Cancelled', 'Ready'];
const LAYOUT =
  'task_name, instance_num, job_name, task_type, status, start_time, end_time, plan_cpu, plan_mem';

/** The tasks of one row: Alibaba's task is a stage, and its instances are what is scheduled. */
interface Row {
  readonly name: string;
  readonly instances: number;
  readonly start: number;
  readonly end: number;
}

/**
 * `batch_task` of Alibaba's cluster trace of 2018. A job is its rows, a stage each: as many tasks as the row has
 * instances, all as long as the row. Submission is when its first row started: the table has no other.
 */
export const alibaba2018 = {
  name: 'alibaba2018',
  aJob: `no row has ended: ${LAYOUT}`,
  endings: ['.csv'],
  recognises: (firstLine) => {
    const columns = firstLine.trim().split(',');
    return columns.length === COLUMNS && STATES.includes(columns[4]!) && /^\d*$/.test(columns[1]!);
  },
  read: readAlibaba2018,
} as const satisfies TraceFormat;

/**
 * Jobs in the order of their first rows. Rows of a job may stand apart, so all are held until the end: about 200 bytes
 * a row.
 *
 * @throws WorkloadError with file and line at the first row that is wrong
 */
async function* readAlibaba2018(file: string, tally = new Tally()): AsyncGenerator<PackedJobs> {
  const rows = new Map<string, Row[]>();
  const row = new CsvRow(file);
  for await (const lines of readLineBatches(file)) {
    for (const text of lines) {
      row.next(text);
      if (!row.isBlank) addRow(rows, row, tally);
    }
  }
  yield* inBatches(jobsOf(rows, tally));
}

function addRow(rows: Map<string, Row[]>, row: CsvRow, tally: Tally): void {
  row.expectColumns(COLUMNS);
  const [start, end] = [row.amount(5, 'start time'), row.amount(6, 'end time')];
  if (row.text(4) !== 'Terminated' || !start || !end || end < start) {
    return tally.add({
      code: 'stages-not-ended',
      what: 'stages that did not end well, or whose times are missing: left out',
    });
  }
  const instances = row.wholeNumber(1, 'number of instances');
  if (instances === 0) throw row.wrong(1, 'number of instances', 'it is one or more');
  const job = row.text(2);
  if (job === '') throw row.wrong(2, 'name of the job', 'each row has one');
  const own = rows.get(job);
  const stage = { name: row.text(0), instances, start, end };
  if (own === undefined) rows.set(job, [stage]);
  else own.push(stage);
}

function* jobsOf(rows: ReadonlyMap<string, readonly Row[]>, tally: Tally): Generator<TraceJob> {
  for (const [name, own] of rows) yield jobOfRows(name, own, tally);
}

function jobOfRows(name: string, rows: readonly Row[], tally: Tally): TraceJob {
  // A stage comes after those of lower numbers only, so that this order is one in which they can run.
  const sorted = [...rows].sort((a, b) => (numberOf(a.name) ?? 0) - (numberOf(b.name) ?? 0));
  const durationsSeconds = new Float64Array(sumOf(sorted, ({ instances }) => instances));
  let tasks = 0;
  for (const { instances, start, end } of sorted) {
    durationsSeconds.fill(end - start, tasks, tasks + instances);
    tasks += instances;
  }
  const submitSeconds = Math.min(...sorted.map(({ start }) => start));
  const job = { ...jobOf(submitSeconds, durationsSeconds), name };
  return sorted.length === 1 ? job : { ...job, stages: stagesOf(sorted, tally) };
}

function stagesOf(rows: readonly Row[], tally: Tally): TraceStage[] {
  const placeOf = new Map<number, number>();
  return rows.map(({ name, instances }, place) => {
    const number = numberOf(name);
    const wanted = number === undefined ? [] : numbersBehind(name);
    const after = wanted.flatMap((before) => placeOf.get(before) ?? []);
    if (after.length < wanted.length) {
      const lost = wanted.length - after.length;
      tally.add(
        { code: 'stages-before-missing', what: 'stages to come after that are not there: not waited for' },
        lost,
      );
    }
    if (number !== undefined) placeOf.set(number, place);
    // Two rows may have one name; a job's stages may not.
    return { name: `${name}#${place}`, after: [...new Set(after)], tasks: instances };
  });
}

/** `R5_2_3` is stage 5, after 2 and 3; `task_…` and the like stand in no order. */
const IN_ORDER = /^[A-Za-z]+(\d+)((?:_\d+)*)(?:_Stg\d+)?$/;

function numberOf(name: string): number | undefined {
  const found = IN_ORDER.exec(name)?.[1];
  return found === undefined ? undefined : Number(found);
}

function numbersBehind(name: string): number[] {
  return IN_ORDER.exec(name)![2]!.split('_').filter(Boolean).map(Number);
}

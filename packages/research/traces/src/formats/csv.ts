import { nearest, PRIORITIES, type Priority, present, type Resources } from '@goshawk/core';
import { quote, WorkloadError } from '../errors.js';
import { JobPacker, type PackedJobs } from '../packed-jobs.js';
import { Tally } from '../tally.js';
import { sinceTheFirst } from './clock-time.js';
import {
  bytesOf,
  clockOf,
  decimal,
  instantOf,
  isSeconds,
  isTaskCount,
  KIB,
  MIB,
  SECONDS_ADVICE,
  TASKS_ADVICE,
} from './fields.js';
import { beginningOf, emptyTrace } from './files.js';
import { EARLY_STARTS, isTaken } from './outcomes.js';
import {
  COLUMNS_MAX,
  checkLength,
  checkNotHeader,
  columnName,
  type Row,
  readRecords,
  tallyUnread,
  wordsOf,
  wrongCell,
} from './table.js';
import type { TraceFormat } from './trace-format.js';

type Kind = 'time' | 'length' | 'count' | 'amount' | 'bytes' | 'text';

/** Columns that are read, the types of their cells, and their names without units and words such as `time`. */
const COLUMNS = {
  submit: {
    kind: 'time',
    words: ['submit', 'submitted', 'submission', 'arrival', 'arrived', 'creation', 'created', 'create'],
  },
  start: { kind: 'time', words: ['start', 'started', 'scheduled', 'begin', 'began'] },
  end: { kind: 'time', words: ['end', 'ended', 'finish', 'finished', 'deletion', 'completion'] },
  duration: { kind: 'length', words: ['duration', 'runtime', 'run', 'elapsed'] },
  tasks: { kind: 'count', words: ['tasks', 'ntasks', 'instances'] },
  cpu: { kind: 'amount', words: ['cpu', 'cpus', 'ncpus', 'cores', 'core'] },
  memory: { kind: 'bytes', words: ['memory', 'mem'] },
  gpu: { kind: 'amount', words: ['gpu', 'gpus', 'ngpus'] },
  name: { kind: 'text', words: ['name', 'job name', 'job'] },
  user: { kind: 'text', words: ['user', 'username', 'user name', 'owner'] },
  state: { kind: 'text', words: ['state', 'status', 'job state', 'job status', 'pod phase', 'outcome'] },
  estimate: { kind: 'length', words: ['estimate', 'walltime', 'timelimit', 'limit'] },
  priority: { kind: 'text', words: ['priority'] },
  deadline: { kind: 'time', words: ['deadline'] },
  weight: { kind: 'amount', words: ['weight'] },
} as const satisfies Readonly<Record<string, { kind: Kind; words: readonly string[] }>>;
type Field = keyof typeof COLUMNS;

const FIELDS = Object.keys(COLUMNS) as Field[];
/** Words to ignore in names of columns: `n_tasks`, `submit_time`, `submitted_at`, `cpu_num`. */
const FILLERS = new Set([
  'n',
  'num',
  'number',
  'of',
  'time',
  'at',
  'timestamp',
  'date',
  'total',
  'req',
  'requested',
  'count',
]);
const UNITS: Readonly<Record<'seconds' | 'bytes' | 'amount', Readonly<Record<string, number>>>> = {
  seconds: {
    s: 1,
    sec: 1,
    secs: 1,
    second: 1,
    seconds: 1,
    ms: 1e-3,
    milliseconds: 1e-3,
    us: 1e-6,
    microseconds: 1e-6,
    minutes: 60,
    min: 60,
    mins: 60,
    hours: 3_600,
    h: 3_600,
  },
  bytes: { b: 1, bytes: 1, kb: KIB, kib: KIB, mb: MIB, mib: MIB, gb: KIB * MIB, gib: KIB * MIB },
  amount: { milli: 1e-3, millicores: 1e-3, percent: 0.01 },
};
const UNITS_OF: Readonly<Record<Kind, Readonly<Record<string, number>>>> = {
  time: UNITS.seconds,
  length: UNITS.seconds,
  bytes: UNITS.bytes,
  amount: UNITS.amount,
  count: {},
  text: {},
};

const LAYOUT =
  'a `submit` and a `duration`, or a `start` and an `end`; also tasks, cpu, memory, gpu, user, name, state, estimate, priority, deadline and weight';
const ADVICE = `the first line names the columns: ${LAYOUT}`;

/** One job per row with equal tasks, as exported by a spreadsheet, a data frame or a query. */
export const csv = {
  name: 'csv',
  sample: 'jobs.csv',
  isForeign: true,
  aJob: `each row must describe a job; ${ADVICE}`,
  endings: ['.csv'],
  recognises: (firstLine) => {
    const fields = new Set(headerCells(firstLine).map((name) => fieldOf(name)?.field));
    return fields.has('submit') || fields.has('start') || (fields.has('end') && fields.has('duration'));
  },
  read: readCsv,
} as const satisfies TraceFormat;

const DELIMITERS = [',', ';', '\t', '|'];

/** Returns the most frequent delimiter in a header. */
export function delimiterOf(header: string): string {
  const unquoted = header.replace(/"[^"]*"/g, '');
  const counts = DELIMITERS.map((delimiter) => unquoted.split(delimiter).length);
  return DELIMITERS[counts.indexOf(Math.max(...counts))]!;
}

function headerCells(header: string): string[] {
  return header.split(delimiterOf(header), COLUMNS_MAX).map(columnName);
}

/** Returns the field of a column name; `unit` is the meaning of a 1 in it. */
function fieldOf(name: string): { field: Field; unit: number } | undefined {
  const words = wordsOf(name);
  const plain = words.join(' ');
  for (const field of FIELDS) {
    const { kind, words: known } = COLUMNS[field];
    const units = UNITS_OF[kind];
    const last = words.at(-1) ?? '';
    const unit = words.length > 1 && Object.hasOwn(units, last) ? units[last]! : undefined;
    const own = (unit === undefined ? words : words.slice(0, -1)).filter((word) => !FILLERS.has(word));
    const isKnown = (text: string): boolean => (known as readonly string[]).includes(text);
    if (isKnown(plain) || isKnown(own.join(' '))) return { field, unit: unit ?? 1 };
  }
  return undefined;
}

interface Column {
  readonly place: number;
  readonly name: string;
  readonly unit: number;
}

/** @throws WorkloadError with file and line at the first invalid row */
async function* readCsv(file: string, tally = new Tally(), signal?: AbortSignal): AsyncGenerator<PackedJobs> {
  const first = await beginningOf(file);
  if (first === undefined) throw emptyTrace(file, csv.aJob);
  const read = (own: Tally) => readRows(file, delimiterOf(first.text), own, signal);
  yield* hasClockTimes(first.head) ? sinceTheFirst(read, tally) : read(tally);
}

async function* readRows(
  file: string,
  delimiter: string,
  tally: Tally,
  signal?: AbortSignal,
): AsyncGenerator<PackedJobs> {
  const records = readRecords(file, { delimiter, hasQuotes: true }, signal);
  const { value: header } = (await records.next()) as { value: Row };
  yield* new CsvReader(header, tally).jobs(records);
}

/** Decides by the first rows: dates count from the first submission, and numbers are used unchanged. */
function hasClockTimes(head: string): boolean {
  return /\d{4}-\d{2}-\d{2}/.test(
    head
      .split(/\r\n?|\n/)
      .slice(1, 50)
      .join('\n'),
  );
}

class CsvReader {
  readonly #columns: ReadonlyMap<Field, readonly Column[]>;
  readonly #width: number;
  readonly #names: readonly string[];
  readonly #tally: Tally;
  readonly #endsAtDeletion: boolean;
  /** Whether times are calendar dates, decided by the first row. */
  #isClock: boolean | undefined;

  constructor(header: Row, tally: Tally) {
    this.#tally = tally;
    this.#width = header.cells.length;
    this.#names = header.cells;
    this.#columns = columnsOf(header, tally);
    this.#endsAtDeletion = wordsOf(this.#columns.get('end')?.[0]?.name ?? '').includes('deletion');
  }

  async *jobs(records: AsyncIterable<Row>): AsyncGenerator<PackedJobs> {
    const packer = new JobPacker();
    for await (const row of records) {
      checkLength(row, this.#width);
      checkNotHeader(row, this.#names);
      this.#addJob(packer, row);
      if (packer.isFull) yield packer.take();
    }
    yield packer.take();
  }

  #addJob(packer: JobPacker, row: Row): void {
    const [start, end] = [this.#time(row, 'start'), this.#time(row, 'end')];
    const length = this.#amount(row, 'duration', lengthOf, SECONDS_ADVICE);
    const state = this.#text(row, 'state') ?? '';
    const duration = length ?? (start === undefined || end === undefined ? undefined : end - start);
    // The phase of a pod is the last one before its deletion.
    const isDeleted = start !== undefined && end !== undefined && this.#endsAtDeletion;
    const isRunning = /^running$/i.test(state);
    if (state !== '' && !(isDeleted && isRunning) && !isTaken(state, duration !== undefined, this.#tally))
      return;
    if (duration === undefined) {
      throw new WorkloadError(
        `the ${this.#columns.has('duration') || !this.#columns.has('end') ? 'duration' : start === undefined ? 'start' : 'end'} is empty`,
        'a job that ran needs both a submission and a duration; use a `state` column to mark jobs that did not run',
        row,
      );
    }
    if (!isSeconds(duration)) {
      throw new WorkloadError(
        `the job ends ${-duration} s before it starts`,
        'correct or remove the row',
        row,
      );
    }
    const submitted = this.#time(row, 'submit');
    if (submitted === undefined && this.#columns.has('submit'))
      this.#tally.add({
        code: 'submissions-missing',
        what: 'jobs with an empty submission: submitted at their start',
      });
    if (submitted !== undefined && start !== undefined && start < submitted) this.#tally.add(EARLY_STARTS);
    const submit = submitted ?? start ?? (end === undefined ? undefined : end - duration);
    if (submit === undefined)
      throw new WorkloadError('the row has no submit, start or end time', 'add one of them', row);
    const tasks =
      this.#amount(row, 'tasks', decimal, TASKS_ADVICE, isTaskCount) ?? this.#missing('tasks') ?? 1;
    packer.roomFor(tasks).fill(duration);
    packer.close(submit, duration, tasks, {
      ...present({
        name: this.#text(row, 'name'),
        user: this.#text(row, 'user'),
        estimateSeconds: this.#amount(row, 'estimate', lengthOf, SECONDS_ADVICE),
        demand: this.#demand(row),
        deadlineSeconds: this.#deadline(row, submit),
        priority: this.#priority(row),
        weight: this.#amount(
          row,
          'weight',
          decimal,
          'it must be a number above zero',
          (value) => value > 0 && value <= 1e9,
        ),
        waitSeconds:
          start === undefined || start < submit || (start === submit && !this.#columns.has('submit'))
            ? undefined
            : start - submit,
      }),
    });
  }

  #demand(row: Row): Resources | undefined {
    const amount = 'it must be a number of at least 0';
    const demand = present({
      cpu: this.#amount(row, 'cpu', decimal, amount, isAmount),
      memory: this.#amount(row, 'memory', bytesOf, 'it must be a number of bytes, or 4GiB', isAmount),
      gpu: this.#amount(row, 'gpu', decimal, amount, isAmount),
    });
    for (const field of ['cpu', 'memory', 'gpu'] as const)
      if (demand[field] === undefined) this.#missing(field);
    const needed = Object.entries(demand).filter(([, each]) => each !== undefined && each > 0);
    return needed.length === 0 ? undefined : (Object.fromEntries(needed) as Resources);
  }

  /** Counts an empty cell of a column. */
  #missing(field: 'tasks' | 'cpu' | 'memory' | 'gpu'): undefined {
    const column = this.#columns.get(field)?.[0];
    if (column === undefined) return undefined;
    const read = field === 'tasks' ? 'one task' : 'no demand';
    this.#tally.add({
      code: `${field}-missing`,
      what: `jobs with an empty ${quote(column.name)}: read as ${read}`,
    });
    return undefined;
  }

  /** Returns the deadline; dates are absolute, and numbers are relative to the submission. */
  #deadline(row: Row, submit: number): number | undefined {
    const time = this.#time(row, 'deadline');
    if (time === undefined) return undefined;
    const seconds = this.#isClock === true ? time - submit : time;
    if (seconds > 0 && isSeconds(seconds)) return seconds;
    this.#tally.add({
      code: 'deadlines-past',
      what: 'jobs with a deadline before their submission: deadline omitted',
    });
    return undefined;
  }

  #priority(row: Row): Priority | undefined {
    const text = this.#text(row, 'priority')?.toLowerCase();
    if (text === undefined) return undefined;
    if ((PRIORITIES as readonly string[]).includes(text)) return text as Priority;
    this.#tally.add({
      code: 'priorities-unknown',
      what: `jobs whose priority is not one of ${PRIORITIES.join(', ')}: omitted`,
    });
    return undefined;
  }

  #text(row: Row, field: Field): string | undefined {
    const column = this.#columns.get(field)?.[0];
    const text = column === undefined ? '' : row.cells[column.place]!;
    if (isUnknown(text)) return undefined;
    return text.slice(0, 256);
  }

  #time(row: Row, field: 'submit' | 'start' | 'end' | 'deadline'): number | undefined {
    const column = this.#columns.get(field)?.[0];
    if (column === undefined) return undefined;
    const text = row.cells[column.place]!;
    if (isUnknown(text)) return undefined;
    const instant = instantOf(text);
    this.#isClock ??= instant !== undefined;
    const number = decimal(text) * column.unit;
    if (this.#isClock && instant !== undefined) return instant;
    if (!this.#isClock && isSeconds(number)) return number;
    throw wrongCell(
      row,
      column.place,
      column.name,
      this.#isClock
        ? 'it must be a date and a time, such as 2026-11-25T18:30:00Z, as in the first row'
        : `${SECONDS_ADVICE}, or in all rows a date and a time such as 2026-11-25T18:30:00Z`,
    );
  }

  /** Multiplies two columns of one field, such as `num_gpu` and `gpu_milli`. */
  #amount(
    row: Row,
    field: Field,
    parse: (text: string, unit?: number) => number,
    advice: string,
    is: (value: number) => boolean = isSeconds,
  ): number | undefined {
    let product: number | undefined;
    for (const { place, name, unit } of this.#columns.get(field) ?? []) {
      const text = row.cells[place]!;
      if (isUnknown(text)) continue;
      const isBytes = COLUMNS[field].kind === 'bytes';
      const value = isBytes ? parse(text, unit) : parse(text) * unit;
      if (!is(value)) throw wrongCell(row, place, name, advice);
      product = (product ?? 1) * value;
    }
    return product;
  }
}

function isUnknown(text: string): boolean {
  return text === '' || /^(na|n\/a|nan|null|none|unknown|-)$/i.test(text);
}

function isAmount(value: number): boolean {
  return value >= 0 && value <= Number.MAX_SAFE_INTEGER;
}

function lengthOf(text: string): number {
  return clockOf(text) ?? decimal(text);
}

function columnsOf(header: Row, tally: Tally): Map<Field, Column[]> {
  const columns = new Map<Field, Column[]>();
  const unread: string[] = [];
  const names = new Set<string>();
  for (const [place, name] of header.cells.entries()) {
    if (names.has(name)) {
      throw new WorkloadError(`two columns have the same name, ${quote(name)}`, ADVICE, header);
    }
    names.add(name);
    const found = fieldOf(name);
    if (found === undefined) unread.push(name === '' ? `column ${place + 1}` : name);
    else {
      const { field, unit } = found;
      const own = columns.get(field);
      const column = { place, name, unit };
      if (own === undefined) columns.set(field, [column]);
      else if (COLUMNS[field].kind === 'amount') own.push(column);
      else unread.push(name);
    }
  }
  const has = (...fields: Field[]): boolean => fields.every((field) => columns.has(field));
  if (!has('duration') && !has('start', 'end')) {
    throw new WorkloadError('no column contains run times', `${ADVICE}${meant(unread, columns)}`, header);
  }
  for (const name of unread) {
    const near = nearest(wordsOf(name).join(' '), STRICT_FIELDS);
    if (near === undefined || columns.has(near as Field)) continue;
    throw new WorkloadError(`unknown column ${quote(name)}`, `did you mean ${quote(near)}?`, header);
  }
  tallyUnread(tally, unread);
  return columns;
}

function meant(unread: readonly string[], columns: ReadonlyMap<Field, unknown>): string {
  for (const name of unread) {
    const near = nearest(wordsOf(name).join(' '), STRICT_FIELDS);
    if (near !== undefined && !columns.has(near as Field))
      return `; did you mean ${quote(near)} by ${quote(name)}?`;
  }
  return '';
}

/** Misspellings of these names are rejected, because the job would lack its tasks or estimate. */
const STRICT_FIELDS: readonly string[] = [
  'submit',
  'duration',
  'tasks',
  'estimate',
  'memory',
  'priority',
  'deadline',
] satisfies Field[];

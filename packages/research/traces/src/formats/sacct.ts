import { present, type Resources } from '@goshawk/core';
import { WorkloadError } from '../errors.js';
import { JobPacker, type PackedJobs } from '../packed-jobs.js';
import { Tally } from '../tally.js';
import { sinceTheFirst } from './clock-time.js';
import { delimiterOf } from './csv.js';
import { bytesOf, clockOf, decimal, instantOf, isSeconds, isTaskCount, MIB, TASKS_ADVICE } from './fields.js';
import { beginningOf } from './files.js';
import { EARLY_STARTS, isTaken, neverRan } from './outcomes.js';
import {
  checkHeader,
  checkLength,
  checkNotHeader,
  type Row,
  readRecords,
  tallyUnread,
  wrongCell,
} from './table.js';
import type { TraceFormat } from './trace-format.js';

/** Columns by their names in `sacct --helpformat`, in lower case. */
const READ = [
  'jobid',
  'jobidraw',
  'jobname',
  'user',
  'state',
  'submit',
  'start',
  'end',
  'elapsed',
  'elapsedraw',
  'timelimit',
  'timelimitraw',
  'alloccpus',
  'ncpus',
  'reqcpus',
  'nnodes',
  'allocnodes',
  'reqnodes',
  'reqmem',
  'alloctres',
  'reqtres',
] as const;
type Column = (typeof READ)[number];

/** Columns that may contain the delimiter, likeliest first. */
const FREE_TEXT = ['jobname', 'submitline', 'comment', 'admincomment', 'systemcomment', 'workdir'];

/** Cells of rows whose columns are not shifted. */
const SHAPES: readonly (readonly [Column, RegExp])[] = [
  ['jobid', /^(\d|$)/],
  ['state', /^([a-z]|$)/i],
  ['submit', /^(\d|$)/],
  ['elapsed', /^(\d|$)/],
  ['elapsedraw', /^\d*$/],
  ['nnodes', /^(\d|$)/],
  ['ncpus', /^(\d|$)/],
];

const OTHER_DELIMITER = "if a cell contains the delimiter, export with --delimiter=$'\\t'";
const COMMAND =
  'sacct -P -a -X -S 2026-11-01 -o JobID,JobName,User,State,Submit,Start,End,ElapsedRaw,TimelimitRaw,NNodes,NCPUS,ReqMem,AllocTRES';

/**
 * Slurm's accounting as printed by `sacct -P` or `-p`. A job becomes a task on each of its nodes, which demands that
 * node's part of the job's CPUs, memory and GPUs; the time limit is its estimate. Steps are omitted.
 */
export const sacct = {
  name: 'sacct',
  sample: 'slurm.sacct',
  isForeign: true,
  aJob: `no row is a job that ran: export with ${COMMAND}`,
  endings: ['.sacct'],
  recognises: (firstLine, head) => isParsable(firstLine) || otherOutput(firstLine, head) !== undefined,
  read: (file, tally, signal) => sinceTheFirst((own) => readSacct(file, own, signal), tally),
} as const satisfies TraceFormat;

function isParsable(header: string): boolean {
  const delimiter = delimiterOf(header);
  const names = header.trim().toLowerCase().split(delimiter);
  if (names.length <= 2 || !(names.includes('jobid') || names.includes('jobidraw'))) return false;
  // `sacct --delimiter` prints other delimiters; other programs may have a column jobid, too.
  return delimiter === '|' || (names.includes('submit') && OF_SACCT.some((name) => names.includes(name)));
}

/** Names of columns that only `sacct` prints. */
const OF_SACCT: readonly string[] = [
  'elapsedraw',
  'timelimitraw',
  'alloctres',
  'reqtres',
  'alloccpus',
  'allocnodes',
  'nnodes',
];

/** Describes output of `sacct` that cannot be read, with the options to change; undefined for anything else. */
function otherOutput(firstLine: string, head: string): readonly [is: string, advice: string] | undefined {
  if (/^ *JobID(Raw)? +\w+/i.test(firstLine))
    return ['this is sacct’s human-readable table, which truncates long names', 'export it with -P'];
  if (/^\d+([_+][\d[].*)?\|.*\|(COMPLETED|CANCELLED|FAILED|TIMEOUT|RUNNING|PENDING)\b/.test(firstLine))
    return ['this is sacct’s table without its header', 'export it without -n'];
  if (/^\s*\{/.test(head) && /"(allocation_nodes|derived_exit_code)"\s*:/.test(head))
    return ['this is the output of sacct --json', 'export it with -P in place of --json'];
  return undefined;
}

/** @throws WorkloadError with file and line at the first invalid row */
async function* readSacct(
  file: string,
  tally = new Tally(),
  signal?: AbortSignal,
): AsyncGenerator<PackedJobs> {
  const packer = new JobPacker();
  let reader: SacctReader | undefined;
  const { text, head, line } = (await beginningOf(file)) ?? { text: '', head: '', line: 1 };
  const other = otherOutput(text, head);
  if (other !== undefined) throw new WorkloadError(other[0], `${other[1]}: ${COMMAND}`, { file, line });
  const delimiter = delimiterOf(text);
  for await (const row of readRecords(file, { delimiter, hasQuotes: false }, signal)) {
    if (reader === undefined) reader = new SacctReader(row, delimiter, tally);
    else reader.add(packer, row);
    if (packer.isFull) yield packer.take();
  }
  yield packer.take();
}

class SacctReader {
  readonly #places = new Map<string, number>();
  readonly #header: readonly string[];
  readonly #width: number;
  readonly #delimiter: string;
  readonly #tally: Tally;
  /** Whether times are dates rather than seconds since 1970, decided by the first time. */
  #isDate: boolean | undefined;

  constructor(header: Row, delimiter: string, tally: Tally) {
    this.#tally = tally;
    this.#delimiter = delimiter;
    const names = header.cells.map((name) => name.toLowerCase());
    this.#header = header.cells;
    this.#width = names.length;
    for (const [place, name] of names.entries()) this.#places.set(name, place);
    const has = (...columns: Column[]): boolean => columns.some((column) => this.#places.has(column));
    const missing = [
      has('submit') ? '' : 'Submit',
      has('elapsed', 'elapsedraw') || (has('start') && has('end')) ? '' : 'ElapsedRaw',
    ].filter(Boolean);
    if (missing.length > 0)
      throw new WorkloadError(`missing column ${missing.join(' and ')}`, `export with ${COMMAND}`, header);
    checkHeader(header, (name) => name.toLowerCase());
    const known: readonly string[] = READ;
    // -p ends each line with a delimiter.
    const titles = header.cells.at(-1) === '' ? header.cells.slice(0, -1) : header.cells;
    tallyUnread(
      tally,
      titles.flatMap((name, place) => {
        if (name === '') return [`column ${place + 1}`];
        return known.includes(name.toLowerCase()) ? [] : [name];
      }),
    );
  }

  add(packer: JobPacker, given: Row): void {
    const row = this.#mended(given);
    checkLength(row, this.#width, OTHER_DELIMITER);
    checkNotHeader(row, this.#header);
    const idColumn = this.#places.has('jobid') ? 'jobid' : 'jobidraw';
    const id = this.#text(row, idColumn) ?? '';
    if (/^\D/.test(id)) throw this.#wrong(row, idColumn, 'it must begin with the number of a job');
    if (id.includes('.')) {
      this.#tally.add({ code: 'job-steps', what: 'job steps: part of their jobs' });
      return;
    }
    const seconds = this.#elapsed(row);
    const start = this.#instant(row, 'start');
    const hasStarted = start !== undefined || !this.#places.has('start');
    const isRun =
      seconds !== undefined &&
      hasStarted &&
      (seconds > 0 || /^comp/i.test(this.#text(row, 'state') ?? 'comp'));
    if (!isTaken(this.#text(row, 'state') ?? '', isRun, this.#tally)) return;
    const submit = this.#instant(row, 'submit');
    if (submit === undefined)
      throw wrongCell(
        row,
        this.#places.get('submit')!,
        'Submit',
        'it must be a date and a time, as sacct prints them',
      );
    if (seconds === undefined || !isSeconds(seconds)) return void neverRan(this.#tally);
    const end = this.#instant(row, 'end');
    if (start !== undefined && start < submit) this.#tally.add(EARLY_STARTS);
    if (start !== undefined && end !== undefined && end < start)
      this.#tally.add({
        code: 'ends-before-start',
        what: 'jobs that end before their start: read with their elapsed time',
      });
    const nodes = this.#nodes(row);
    packer.roomFor(nodes).fill(seconds);
    packer.close(submit, seconds, nodes, {
      ...present({
        name: this.#text(row, 'jobname')?.slice(0, 256),
        user: this.#text(row, 'user')?.slice(0, 256),
        estimateSeconds: this.#limit(row),
        demand: this.#demand(row, nodes),
        waitSeconds: start === undefined || start < submit ? undefined : start - submit,
      }),
    });
  }

  /** Repairs rows in which a name or command contains the delimiter, which `sacct` does not escape. */
  #mended(row: Row): Row {
    const surplus = row.cells.length - this.#width;
    if (surplus <= 0) return row;
    for (const column of FREE_TEXT) {
      const place = this.#places.get(column);
      if (place === undefined) continue;
      const cells = [...row.cells];
      cells.splice(place, surplus + 1, cells.slice(place, place + surplus + 1).join(this.#delimiter));
      // A delimiter elsewhere shifts the cells.
      if (SHAPES.every(([name, shape]) => shape.test(cells[this.#places.get(name) ?? -1] ?? '')))
        return { ...row, cells };
    }
    return row;
  }

  #text(row: Row, column: Column): string | undefined {
    const place = this.#places.get(column);
    const text = place === undefined ? '' : row.cells[place]!;
    return text === '' || /^(unknown|none|none assigned|n\/a)$/i.test(text) ? undefined : text;
  }

  #wrong(row: Row, column: Column, advice: string): WorkloadError {
    return wrongCell(row, this.#places.get(column)!, column, advice);
  }

  #instant(row: Row, column: 'submit' | 'start' | 'end'): number | undefined {
    const text = this.#text(row, column);
    if (text === undefined) return undefined;
    const date = instantOf(text);
    // SLURM_TIME_FORMAT=%s prints seconds since 1970.
    const seconds = date ?? decimal(text);
    this.#isDate ??= date !== undefined;
    if (isSeconds(seconds) && this.#isDate === (date !== undefined)) return seconds;
    throw this.#wrong(row, column, 'it must be a date and a time such as 2026-11-25T18:30:00, or Unknown');
  }

  /** Prefers sacct's elapsed time to the difference of two local times, which a clock change may distort. */
  #elapsed(row: Row): number | undefined {
    const raw = this.#text(row, 'elapsedraw');
    if (raw !== undefined) {
      const seconds = decimal(raw);
      if (isSeconds(seconds)) return seconds;
      throw this.#wrong(row, 'elapsedraw', 'it must be a number of seconds');
    }
    const text = this.#text(row, 'elapsed');
    if (text !== undefined) {
      const seconds = clockOf(text);
      if (seconds !== undefined && isSeconds(seconds)) return seconds;
      throw this.#wrong(row, 'elapsed', 'it must be [DD-]HH:MM:SS');
    }
    const [start, end] = [this.#instant(row, 'start'), this.#instant(row, 'end')];
    if (start === undefined || end === undefined) return undefined;
    if (end >= start) return end - start;
    throw this.#wrong(row, 'end', 'it must not be before the start');
  }

  #limit(row: Row): number | undefined {
    const raw = this.#text(row, 'timelimitraw');
    const minutes = raw === undefined ? Number.NaN : decimal(raw);
    if (isSeconds(minutes * 60)) return minutes * 60;
    if (raw !== undefined && !NO_LIMIT.test(raw))
      throw this.#wrong(row, 'timelimitraw', 'it must be a number of minutes, UNLIMITED or Partition_Limit');
    const text = this.#text(row, 'timelimit');
    if (text === undefined || NO_LIMIT.test(text)) return undefined;
    const seconds = clockOf(text);
    if (seconds !== undefined && isSeconds(seconds)) return seconds;
    throw this.#wrong(row, 'timelimit', 'it must be [DD-]HH:MM:SS, UNLIMITED or Partition_Limit');
  }

  #nodes(row: Row): number {
    const listed = this.#count(row, ['nnodes', 'allocnodes', 'reqnodes']);
    const nodes = listed ?? this.#tres(row, 'node') ?? 0;
    if (isTaskCount(nodes)) return nodes;
    this.#tally.add({ code: 'nodes-missing', what: 'jobs without a number of nodes: read as one task' });
    return 1;
  }

  /**
   * An amount in AllocTRES, or in ReqTRES, such as `cpu=64,mem=128G,node=2`.
   *
   * @param pattern of its name; amounts with different names are added
   */
  #tres(row: Row, pattern: string, parse: (text: string) => number = decimal): number | undefined {
    const column = this.#text(row, 'alloctres') === undefined ? 'reqtres' : 'alloctres';
    let sum: number | undefined;
    for (const [, text] of (this.#text(row, column) ?? '').matchAll(
      new RegExp(`(?:^|,)${pattern}=([^,]*)`, 'g'),
    )) {
      const amount = parse(text!);
      if (!(amount >= 0))
        throw this.#wrong(row, column, 'it must be a list of amounts such as cpu=64,mem=128G,gres/gpu=2');
      sum = (sum ?? 0) + amount;
    }
    return sum;
  }

  #count(row: Row, columns: readonly Column[]): number | undefined {
    for (const column of columns) {
      const text = this.#text(row, column);
      if (text === undefined) continue;
      const count = /^\d+(\.\d+)?K$/i.test(text) ? Number(text.slice(0, -1)) * 1_000 : decimal(text);
      if (count === 0) continue;
      if (isTaskCount(count)) return count;
      throw this.#wrong(row, column, TASKS_ADVICE);
    }
    return undefined;
  }

  /** Demand of a job on one of its nodes. */
  #demand(row: Row, nodes: number): Resources | undefined {
    const cpus = this.#count(row, ['alloccpus', 'ncpus', 'reqcpus']) ?? this.#tres(row, 'cpu');
    const bytes =
      this.#tres(row, 'mem', (text) => bytesOf(text, MIB)) ?? this.#requestedBytes(row, nodes, cpus || nodes);
    // Some clusters record only types of GPUs, without their total.
    const gpus = this.#tres(row, 'gres/gpu') ?? this.#tres(row, 'gres/gpu:[^,=]+');
    const demand = Object.entries({ cpu: cpus, memory: bytes, gpu: gpus }).flatMap(([name, amount]) =>
      amount === undefined || !(amount > 0 && amount <= Number.MAX_SAFE_INTEGER)
        ? []
        : [[name, amount / nodes] as const],
    );
    return demand.length === 0 ? undefined : Object.fromEntries(demand);
  }

  /** `ReqMem`: up to Slurm 21.08, 4Gn is per node and 4Gc per CPU; since then it is for the whole job. */
  #requestedBytes(row: Row, nodes: number, cpus: number): number | undefined {
    const text = this.#text(row, 'reqmem');
    if (text === undefined) return undefined;
    const per = /[nc]$/i.exec(text)?.[0]?.toLowerCase();
    const bytes = bytesOf(per === undefined ? text : text.slice(0, -1), MIB);
    if (!(bytes >= 0)) throw this.#wrong(row, 'reqmem', 'it must be an amount such as 4000M, 4G, 4Gn or 4Gc');
    return bytes * (per === 'n' ? nodes : per === 'c' ? cpus : 1);
  }
}

/** Time limits that are not estimates. */
const NO_LIMIT = /^(unlimited|partition_limit|invalid)$/i;

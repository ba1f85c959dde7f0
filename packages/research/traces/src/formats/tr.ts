import { quote, WorkloadError } from '../errors.js';
import { featuresAt, type SideFile } from '../features.js';
import type { Jobs } from '../job.js';
import { JobPacker, type PackedJobs } from '../packed-jobs.js';
import { Tally } from '../tally.js';
import { isSeconds, isTaskCount, SECONDS_ADVICE, TASKS_ADVICE } from './fields.js';
import { readWholeLines } from './files.js';
import type { TraceFormat } from './trace-format.js';

/**
 * The `.tr` format of the Sparrow, Hawk and Eagle simulations: one job per line, `submit_s n_tasks
 * mean_task_s d1 d2 … dn`, separated by blanks. Numbers may be floats, lines may be in any order, and blank
 * lines are skipped.
 */
const TR_LAYOUT = '`submit_s tasks mean_s d1 d2 … dn`, separated by spaces';

export const tr = {
  name: 'tr',
  sample: 'small.tr',
  aJob: `each line must be a job: ${TR_LAYOUT}`,
  endings: ['.tr'],
  recognises: looksLikeTr,
  read: (file, tally, signal) => readTr(file, undefined, signal, tally),
  write: trLines,
} as const satisfies TraceFormat;

/** Whether a line looks like `.tr`: it starts with a number followed by a blank or the end. */
export function looksLikeTr(line: string): boolean {
  const [first] = line.trim().split(/\s/, 1);
  return first !== undefined && /^[-+]?(\d*\.?\d+(e[-+]?\d+)?|nan|inf(inity)?)$/i.test(first);
}

/** Returns the same format with features of each job from a side file. */
export function trWith(sideFile: SideFile): TraceFormat {
  return { ...tr, read: (file, tally, signal) => readTr(file, sideFile, signal, tally) };
}

/**
 * Reads jobs of a `.tr` file (optionally gzipped) in file order, in batches.
 *
 * @param sideFile features of the jobs
 * @throws WorkloadError with file and line at the first invalid line
 */
export async function* readTr(
  file: string,
  sideFile?: SideFile,
  signal?: AbortSignal,
  tally = new Tally(),
): AsyncGenerator<PackedJobs> {
  const parser = new TrParser(file, sideFile, tally);
  for await (const bytes of readWholeLines(file, () => parser.line, signal)) yield parser.parse(bytes);
}

/** Means in traces are often rounded to seconds. */
const MEAN_ROUNDING_SECONDS = 1;
const OTHER_MEANS = {
  code: 'means-differ',
  what: 'jobs whose stated mean differs from that of their durations: it is used as the estimate',
} as const;

/** Parses the lines of a file, which are passed in order. */
export class TrParser {
  readonly #file: string;
  readonly #sideFile: SideFile | undefined;
  readonly #tally: Tally;
  readonly #packer = new JobPacker();
  /** The last line read, from 1. */
  line = 0;

  constructor(file: string, sideFile?: SideFile, tally = new Tally()) {
    this.#file = file;
    this.#tally = tally;
    this.#sideFile = sideFile;
  }

  /** @param bytes whole lines with their ends */
  parse(bytes: Buffer): PackedJobs {
    const fields = new Fields(bytes);
    while (fields.nextLine()) {
      this.line++;
      if (fields.next()) this.#addJob(fields);
    }
    return this.#packer.take();
  }

  /** Adds the job of the line whose first field is current. */
  #addJob(fields: Fields): void {
    const submitSeconds = fields.number();
    if (!isSeconds(submitSeconds)) {
      throw this.#wrong(`the submission time is ${quote(fields.token())}`, SECONDS_ADVICE);
    }
    const tasks = fields.next() ? fields.number() : undefined;
    const atTasks = fields.place;
    const meanSeconds = fields.next() ? fields.number() : undefined;
    if (tasks === undefined || meanSeconds === undefined) {
      throw this.#wrong(
        `the line ends after ${tasks === undefined ? 1 : 2} fields`,
        `each line must be ${TR_LAYOUT}`,
      );
    }
    if (!isTaskCount(tasks)) {
      throw this.#wrong(`the number of tasks is ${quote(fields.token(atTasks))}`, TASKS_ADVICE);
    }
    if (!isSeconds(meanSeconds)) {
      throw this.#wrong(`the mean task duration is ${quote(fields.token())}`, SECONDS_ADVICE);
    }
    const realMean = this.#readDurations(fields, tasks) / tasks;
    if (Math.abs(meanSeconds - realMean) > 0.01 * realMean + MEAN_ROUNDING_SECONDS)
      this.#tally.add(OTHER_MEANS);
    const more = this.#sideFile === undefined ? undefined : featuresAt(this.line, tasks, this.#sideFile);
    this.#packer.close(submitSeconds, meanSeconds, tasks, more);
  }

  /** @returns the sum of the durations */
  #readDurations(fields: Fields, tasks: number): number {
    // A line of n durations has at least 2n bytes, so a count that is too large allocates nothing.
    const durations = this.#packer.roomFor(Math.min(tasks, fields.bytesLeft));
    let count = 0;
    let sum = 0;
    while (fields.next()) {
      count++;
      if (count > tasks) continue;
      const duration = fields.number();
      if (!isSeconds(duration)) {
        throw this.#wrong(`duration ${count} of ${tasks} is ${quote(fields.token())}`, SECONDS_ADVICE);
      }
      durations[count - 1] = duration;
      sum += duration;
    }
    if (count < tasks) {
      throw this.#wrong(
        `${tasks - count} of ${tasks} task durations ${tasks - count === 1 ? 'is' : 'are'} missing`,
        'list one duration for each task, or correct the number of tasks',
      );
    }
    if (count > tasks) {
      throw this.#wrong(
        `the line has ${count} durations for ${tasks} ${tasks === 1 ? 'task' : 'tasks'}`,
        'list one duration for each task, or correct the number of tasks',
      );
    }
    return sum;
  }

  #wrong(problem: string, advice: string): WorkloadError {
    return new WorkloadError(problem, advice, { file: this.#file, line: this.line });
  }
}

/**
 * Iterates over lines and their fields in one pass over the bytes, without strings of lines and arrays of fields.
 * Lines can have 50,000 fields.
 */
class Fields {
  readonly #bytes: Buffer;
  #start = 0;
  #end = -1;
  /** Value of a field of decimal digits with at most one point, without the point… */
  #digits = 0;
  /** …and the number of digits after the point; −1 without one, −2 for any other field. */
  #fraction = OTHER;

  /** @param bytes lines with their ends, which terminate the iteration */
  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  /** Moves to the next line after all fields of this one; false if there is none. */
  nextLine(): boolean {
    this.#end++;
    return this.#end < this.#bytes.length;
  }

  /** Moves to the next field of the line; false if there is none. */
  next(): boolean {
    const bytes = this.#bytes;
    let at = this.#end;
    let byte = bytes[at]!;
    while (byte <= BLANK && byte !== NEWLINE) byte = bytes[++at]!;
    const start = at;
    let digits = 0;
    let pointAt = -1;
    let isDecimal = true;
    while (byte > BLANK) {
      if (byte >= ZERO && byte <= NINE) digits = digits * 10 + (byte - ZERO);
      else if (byte === POINT && pointAt < 0) pointAt = at;
      else isDecimal = false;
      byte = bytes[++at]!;
    }
    this.#start = start;
    this.#end = at;
    this.#digits = digits;
    if (isDecimal) this.#fraction = pointAt < 0 ? NO_POINT : at - pointAt - 1;
    else this.#fraction = OTHER;
    return at > start;
  }

  /** Offset of the field. */
  get place(): number {
    return this.#start;
  }

  /** Number of bytes after the field, including later lines. */
  get bytesLeft(): number {
    return this.#bytes.length - this.#end;
  }

  /** @param place of the field */
  token(place = this.#start): string {
    const bytes = this.#bytes;
    let end = place;
    while (bytes[end]! > BLANK) end++;
    return bytes.toString('utf8', place, end);
  }

  /** Returns the field as a decimal number; NaN if it is not one. */
  number(): number {
    // Decimal digits below 2^53, divided by an exact power of ten, give the correctly rounded value with one division
    // instead of a substring and a general parser.
    const digits = this.#digits;
    const fraction = this.#fraction;
    if (fraction === NO_POINT && digits <= Number.MAX_SAFE_INTEGER) return digits;
    if (fraction > 0 && fraction < POWERS_OF_TEN.length && digits <= Number.MAX_SAFE_INTEGER) {
      return digits / POWERS_OF_TEN[fraction]!;
    }
    const token = this.token();
    return /^[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?$/i.test(token) ? Number(token) : Number.NaN;
  }
}

const NEWLINE = 0x0a;
const BLANK = 0x20;
const POINT = 0x2e;
const ZERO = 0x30;
const NINE = 0x39;

const NO_POINT = -1;
const OTHER = -2;

const POWERS_OF_TEN = Float64Array.from({ length: 23 }, (_, exponent) => Number(`1e${exponent}`));

/**
 * Writes lines of the `.tr` format, with line ends. Numbers read back exactly.
 *
 * @param tally counts jobs with features that have no column
 */
export async function* trLines(jobs: Jobs, tally = new Tally()): AsyncGenerator<string> {
  for await (const job of jobs) {
    const { submitSeconds, durationsSeconds, meanSeconds, ...rest } = job;
    for (const field of Object.keys(rest)) {
      tally.add({
        code: `lost-${field}`,
        what: `jobs whose ${field} cannot be written to .tr: omitted`,
      });
    }
    yield `${submitSeconds} ${durationsSeconds.length} ${meanSeconds} ${durationsSeconds.join(' ')}\n`;
  }
}

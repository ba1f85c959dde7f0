import { WorkloadError } from '../errors.js';
import { type SideFile, withFeatures } from '../features/job-features.js';
import type { Jobs, TraceJob } from '../job.js';
import { Tally } from '../tally.js';
import { emptyTrace, readByteLines } from './lines.js';
import { quote } from './quote.js';
import type { TraceFormat } from './trace-format.js';

/**
 * The `.tr` format of the Sparrow, Hawk and Eagle simulations: one job a line,
 * `submit_s n_tasks mean_task_s d1 d2 … dn`, fields separated by one or more blanks. Numbers may be
 * floats, lines need not be in order of time, and blank lines are skipped.
 */
const TR_LAYOUT = '`submit_s tasks mean_s d1 d2 … dn`, separated by blanks';

export const tr = {
  name: 'tr',
  description: `the Sparrow, Hawk and Eagle simulators' text: a job a line, ${TR_LAYOUT}; gzip'd or not`,
  endings: ['.tr'],
  recognises: looksLikeTr,
  read: readTr,
  write: trLines,
} as const satisfies TraceFormat;

/** Whether a line looks like `.tr`: it begins with a number that is followed by a blank or nothing. */
export function looksLikeTr(line: string): boolean {
  const [first] = line.trim().split(/\s/, 1);
  return first !== undefined && /^[-+]?(\d*\.?\d+(e[-+]?\d+)?|nan|inf(inity)?)$/i.test(first);
}

/** The same, each job with what a side file knows of it. */
export function trWith(sideFile: SideFile): TraceFormat {
  return { ...tr, read: (file) => readTr(file, undefined, sideFile) };
}

/**
 * Jobs of a `.tr` file (gzip'd or not) in file order, in batches as they are read.
 *
 * @param sideFile what is known of them beside their times
 * @throws WorkloadError with file and line at the first line that is wrong, or when there is no job
 */
export async function* readTr(file: string, _tally?: Tally, sideFile?: SideFile): AsyncGenerator<TraceJob[]> {
  const room = new DurationsRoom();
  let line = 0;
  let isEmpty = true;
  for await (const batch of readByteLines(file)) {
    const jobs: TraceJob[] = [];
    for (const bytes of batch) {
      line++;
      const job = parseTrLine(bytes, file, line, room);
      if (job === undefined) continue;
      jobs.push(sideFile === undefined ? job : withFeatures(job, line, sideFile));
    }
    if (jobs.length === 0) continue;
    isEmpty = false;
    yield jobs;
  }
  if (isEmpty) throw emptyTrace(file, `each line is a job: ${TR_LAYOUT}`);
}

/** One line as a job, or undefined when it is blank. */
export function parseTrLine(
  bytes: Buffer,
  file: string,
  line: number,
  room = new DurationsRoom(),
): TraceJob | undefined {
  const fields = new Fields(bytes);
  if (!fields.next()) return undefined;
  const wrong = (problem: string, advice: string) => new WorkloadError(problem, advice, { file, line });

  const submitSeconds = fields.number();
  if (!(submitSeconds >= 0 && submitSeconds < Infinity)) {
    throw wrong(`the submission time is ${quote(fields.token())}`, 'it is a number of seconds, zero or more');
  }
  const tasks = fields.next() ? fields.number() : undefined;
  const tasksToken = fields.token();
  const mean = fields.next() ? fields.number() : undefined;
  if (tasks === undefined || mean === undefined) {
    throw wrong(`the line has only ${tasks === undefined ? 1 : 2} of its fields`, `a line is ${TR_LAYOUT}`);
  }
  if (!Number.isSafeInteger(tasks) || tasks < 1) {
    throw wrong(`the number of tasks is ${quote(tasksToken)}`, 'it is a whole number, one or more');
  }
  if (!(mean >= 0 && mean < Infinity)) {
    throw wrong(
      `the mean task duration is ${quote(fields.token())}`,
      'it is a number of seconds, zero or more',
    );
  }
  // A line of n durations has 2n bytes at least: a count that cannot be true allocates nothing.
  const durationsSeconds = readDurations(fields, room.take(Math.min(tasks, bytes.length)), tasks, wrong);
  return { submitSeconds, durationsSeconds, meanSeconds: mean };
}

function readDurations(
  fields: Fields,
  durations: Float64Array,
  tasks: number,
  wrong: (problem: string, advice: string) => WorkloadError,
): Float64Array {
  let count = 0;
  while (fields.next()) {
    count++;
    if (count > tasks) continue;
    const duration = fields.number();
    if (!(duration >= 0 && duration < Infinity)) {
      throw wrong(
        `duration ${count} of ${tasks} is ${quote(fields.token())}`,
        'it is a number of seconds, zero or more',
      );
    }
    durations[count - 1] = duration;
  }
  if (count < tasks) {
    throw wrong(
      `${tasks - count} of ${tasks} task durations ${tasks - count === 1 ? 'is' : 'are'} missing`,
      'give one duration for each task, or correct the number of tasks',
    );
  }
  if (count > tasks) {
    throw wrong(
      `the line has ${count} durations for ${tasks} ${tasks === 1 ? 'task' : 'tasks'}`,
      'give one duration for each task, or correct the number of tasks',
    );
  }
  return durations;
}

/** Where jobs' durations are put, many in one array: to make each an array of its own takes longer than to fill it. */
class DurationsRoom {
  #block = new Float64Array();
  #taken = 0;

  take(length: number): Float64Array {
    if (this.#taken + length > this.#block.length) {
      this.#block = new Float64Array(Math.max(length, BLOCK_LENGTH));
      this.#taken = 0;
    }
    const start = this.#taken;
    this.#taken += length;
    return this.#block.subarray(start, this.#taken);
  }
}

/** A job that is kept keeps those of its block. */
const BLOCK_LENGTH = 8_192;

/**
 * Walks over the fields of a line, its bytes once: without a string of it, or an array of its fields. Lines can
 * have 50,000.
 */
class Fields {
  readonly #bytes: Buffer;
  #start = 0;
  #end = 0;
  /** Of the field, if it is decimal digits with a point among them at most: all of them as one number… */
  #digits = 0;
  /** …and how many stand behind the point; −1 without one, −2 for a field of any other kind. */
  #fraction = OTHER;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  /** Moves to the next field; false when there is none. */
  next(): boolean {
    const bytes = this.#bytes;
    let at = this.#end;
    while (at < bytes.length && bytes[at]! <= BLANK) at++;
    this.#start = at;
    let digits = 0;
    let fraction = NO_POINT;
    for (; at < bytes.length; at++) {
      const byte = bytes[at]!;
      if (byte >= ZERO && byte <= NINE) {
        digits = digits * 10 + (byte - ZERO);
        if (fraction >= 0) fraction++;
      } else if (byte <= BLANK) {
        break;
      } else {
        fraction = byte === POINT && fraction === NO_POINT ? 0 : OTHER;
        if (fraction === OTHER) {
          while (at < bytes.length && bytes[at]! > BLANK) at++;
          break;
        }
      }
    }
    this.#digits = digits;
    this.#fraction = fraction;
    this.#end = at;
    return this.#end > this.#start;
  }

  token(): string {
    return this.#bytes.toString('utf8', this.#start, this.#end);
  }

  /** The field as a decimal number, NaN when it is none. */
  number(): number {
    // Decimal digits that make an integer below 2^53, divided by a power of ten that is exact itself,
    // give the correctly rounded value: one division in place of a substring and a general parser.
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

const BLANK = 0x20;
const POINT = 0x2e;
const ZERO = 0x30;
const NINE = 0x39;

const NO_POINT = -1;
const OTHER = -2;

const POWERS_OF_TEN = Float64Array.from({ length: 23 }, (_, exponent) => Number(`1e${exponent}`));

/**
 * Lines of the `.tr` format, each with its line end. Numbers are written so that they read back exactly.
 * @param tally counts the jobs that have something for which there is no column
 */
export async function* trLines(jobs: Jobs, tally = new Tally()): AsyncGenerator<string> {
  for await (const job of jobs) {
    const { submitSeconds, durationsSeconds, meanSeconds, ...rest } = job;
    for (const field of Object.keys(rest)) {
      tally.add({
        code: `lost-${field}`,
        what: `jobs whose ${field} has no place in .tr: written without it`,
      });
    }
    yield `${submitSeconds} ${durationsSeconds.length} ${meanSeconds} ${durationsSeconds.join(' ')}\n`;
  }
}

import { present } from '@goshawk/core';
import { quote, WorkloadError } from '../errors.js';
import { JobPacker, type PackedJobs } from '../packed-jobs.js';
import { type Countable, Tally } from '../tally.js';
import { decimal, isSeconds, isTaskCount, KIB, SECONDS_ADVICE, TASKS_ADVICE } from './fields.js';
import { readLineBatches } from './files.js';
import { FAILED_JOBS } from './outcomes.js';
import { tallyUnread } from './table.js';
import type { TraceFormat } from './trace-format.js';

/** Fields in order (D. Feitelson: The Standard Workload Format, version 2.2). */
const FIELDS = [
  'job number',
  'submit time',
  'wait time',
  'run time',
  'processors',
  'CPU time',
  'used memory',
  'requested processors',
  'requested time',
  'requested memory',
  'status',
  'user',
  'group',
  'program',
  'queue',
  'partition',
  'preceding job',
  'think time',
] as const;
type Field = (typeof FIELDS)[number];
/** Maximum number of fields of a line; some archives add columns. */
const FIELDS_MAX = 100;
const PLACE_OF = Object.fromEntries(FIELDS.map((name, place) => [name, place])) as Record<Field, number>;

/** Fields that jobs cannot represent; reported if a line has one. */
const IGNORED_FIELDS: readonly Field[] = ['group', 'queue', 'partition', 'preceding job', 'think time'];

/** A checkpointed job has one line for the total, and one line with one of these statuses per partial run. */
const PARTIAL_STATUSES: readonly (number | undefined)[] = [2, 3, 4];
const FAILED_STATUSES: readonly (number | undefined)[] = [0, 5];

const COUNTS = {
  withoutSubmission: { code: 'jobs-without-submission', what: 'jobs without a submission: omitted' },
  neverRan: {
    code: 'jobs-never-run',
    what: 'jobs without a run time or processors, which never ran: omitted',
  },
  partial: {
    code: 'partial-executions',
    what: 'partial executions (status 2 to 4), included in the summary line of their job: omitted',
  },
  partialAlone: {
    code: 'partial-executions-alone',
    what: 'partial executions (status 2 to 4) of jobs without a summary line: omitted, so their work is missing',
  },
  unknownStatus: { code: 'states-unknown', what: 'jobs with an unknown status: read as completed' },
  negative: {
    code: 'values-negative',
    what: 'negative values other than -1, which means unknown: read as unknown',
  },
  gangs: {
    code: 'gangs',
    what: 'jobs with several processors: read as tasks that may start one by one, although the job started at once',
  },
} as const satisfies Readonly<Record<string, Countable>>;

/**
 * The Standard Workload Format of the Parallel Workloads Archive. A parallel job becomes as many tasks as it had
 * processors, each as long as the job ran; the requested time is its estimate.
 */
export const swf = {
  name: 'swf',
  sample: 'parallel.swf',
  isForeign: true,
  aJob: 'no line is a job that ran: 18 numbers, the fourth its run time in seconds',
  endings: ['.swf'],
  recognises: (firstLine) => firstLine.trimStart().startsWith(';') || looksLikeSwf(firstLine),
  read: readSwf,
} as const satisfies TraceFormat;

/** Whether a line without preceding comments is SWF rather than `.tr`, which also starts with numbers. */
function looksLikeSwf(line: string): boolean {
  const fields = line.trim().split(/\s+/, 2 * FIELDS_MAX);
  if (
    fields.length < FIELDS.length ||
    !fields.slice(0, FIELDS.length).every((field) => !Number.isNaN(decimal(field)))
  )
    return false;
  // `.tr` has no negative numbers, and its second field is the number of fields after the third.
  return (
    fields.includes('-1') || (fields.length <= 2 * FIELDS.length && Number(fields[1]) + 3 !== fields.length)
  );
}

/**
 * Reads jobs in file order, in batches.
 *
 * @throws WorkloadError with file and line at the first invalid line
 */
async function* readSwf(file: string, tally = new Tally(), signal?: AbortSignal): AsyncGenerator<PackedJobs> {
  const packer = new JobPacker();
  const reader = new SwfReader(file, tally);
  for await (const lines of readLineBatches(file, signal)) {
    for (const text of lines) {
      reader.add(packer, text.trim());
      if (packer.isFull) yield packer.take();
    }
  }
  reader.finish();
  yield packer.take();
}

class SwfReader {
  readonly #file: string;
  readonly #tally: Tally;
  readonly #unread = new Set<string>();
  /** Numbers of partial executions, by job. */
  readonly #pieces = new Map<number, number>();
  readonly #summaries = new NumberSet();
  #line = 0;

  constructor(file: string, tally: Tally) {
    this.#file = file;
    this.#tally = tally;
  }

  add(packer: JobPacker, line: string): void {
    this.#line++;
    if (line === '' || line.startsWith(';')) return;
    const texts = line.split(/\s+/, FIELDS_MAX + 1);
    const numbers = this.#numbersOf(texts);
    // −1: unknown.
    const known = (name: Field): number | undefined => {
      const value = numbers[PLACE_OF[name]]!;
      return value < 0 ? undefined : value;
    };
    const status = known('status');
    const number = numbers[PLACE_OF['job number']]!;
    if (PARTIAL_STATUSES.includes(status)) {
      this.#pieces.set(number, (this.#pieces.get(number) ?? 0) + 1);
      return;
    }
    this.#summaries.add(number);
    const [submit, runTime, allocated] = [known('submit time'), known('run time'), known('processors')];
    if (submit === undefined) return this.#tally.add(COUNTS.withoutSubmission);
    const tasks = allocated || known('requested processors');
    const hasRun = runTime === 0 ? status !== 5 && allocated : tasks;
    if (runTime === undefined || !hasRun || !tasks) return this.#tally.add(COUNTS.neverRan);
    if (!isTaskCount(tasks))
      throw this.#wrong(texts, allocated ? 'processors' : 'requested processors', TASKS_ADVICE);
    for (const name of ['submit time', 'run time', 'requested time', 'wait time'] as const)
      if (numbers[PLACE_OF[name]]! > 0 && !isSeconds(numbers[PLACE_OF[name]]!))
        throw this.#wrong(texts, name, SECONDS_ADVICE);
    if (FAILED_STATUSES.includes(status)) this.#tally.add(FAILED_JOBS);
    if (status !== undefined && status !== 1 && !FAILED_STATUSES.includes(status))
      this.#tally.add(COUNTS.unknownStatus);
    if (tasks > 1) this.#tally.add(COUNTS.gangs);
    for (const name of IGNORED_FIELDS) if ((known(name) ?? 0) > 0) this.#unread.add(name);
    if (texts.length > FIELDS.length) this.#unread.add(`those after field ${FIELDS.length}`);
    const [user, program, memory] = [known('user'), known('program'), known('requested memory')];
    packer.roomFor(tasks).fill(runTime);
    packer.close(submit, runTime, tasks, {
      ...present({
        estimateSeconds: known('requested time'),
        user: user === undefined ? undefined : `${user}`,
        logicalName: program === undefined ? undefined : `${program}`,
        demand: memory === undefined || memory === 0 ? undefined : { memory: memory * KIB },
        waitSeconds: known('wait time'),
      }),
    });
  }

  finish(): void {
    // A summary may precede or follow its pieces.
    for (const [number, count] of this.#pieces)
      this.#tally.add(this.#summaries.has(number) ? COUNTS.partial : COUNTS.partialAlone, count);
    tallyUnread(this.#tally, [...this.#unread]);
  }

  #numbersOf(texts: readonly string[]): number[] {
    if (texts.length < FIELDS.length || texts.length > FIELDS_MAX) {
      const count = texts.length > FIELDS_MAX ? `more than ${FIELDS_MAX}` : texts.length;
      throw new WorkloadError(
        `the line has ${count} fields instead of ${FIELDS.length}`,
        `each line must be a job of ${FIELDS.length} numbers`,
        { file: this.#file, line: this.#line },
      );
    }
    const numbers = texts.slice(0, FIELDS.length).map(decimal);
    const place = numbers.findIndex(
      (value) => Number.isNaN(value) || Math.abs(value) > Number.MAX_SAFE_INTEGER,
    );
    if (place >= 0) throw this.#wrong(texts, FIELDS[place]!, 'it must be a decimal number; -1 means unknown');
    this.#tally.add(COUNTS.negative, numbers.filter((value) => value < 0 && value !== -1).length);
    return numbers;
  }

  #wrong(texts: readonly string[], name: Field, advice: string): WorkloadError {
    const place = PLACE_OF[name];
    return new WorkloadError(`field ${place + 1}, the ${name}, is ${quote(texts[place]!)}`, advice, {
      file: this.#file,
      line: this.#line,
    });
  }
}

/** Largest number that takes a bit; job numbers of real traces are dense. */
const BIT_MAX = 2 ** 27;

/** A set of whole numbers in a bit each: a trace may have millions of jobs. */
class NumberSet {
  #bits = new Uint8Array(1_024);
  readonly #others = new Set<number>();

  add(number: number): void {
    if (!hasBit(number)) return void this.#others.add(number);
    const at = number >> 3;
    if (at >= this.#bits.length) {
      const grown = new Uint8Array(Math.max(at + 1, 2 * this.#bits.length));
      grown.set(this.#bits);
      this.#bits = grown;
    }
    this.#bits[at]! |= 1 << (number & 7);
  }

  has(number: number): boolean {
    if (!hasBit(number)) return this.#others.has(number);
    return ((this.#bits[number >> 3] ?? 0) & (1 << (number & 7))) !== 0;
  }
}

function hasBit(number: number): boolean {
  return Number.isInteger(number) && number >= 0 && number <= BIT_MAX;
}

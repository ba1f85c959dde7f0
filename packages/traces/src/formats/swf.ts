import { present } from '@goshawk/core';
import { quote, WorkloadError } from '../errors.js';
import { JobPacker, type PackedJobs } from '../packed-jobs.js';
import { Tally } from '../tally.js';
import { readLineBatches } from './files.js';
import type { TraceFormat } from './trace-format.js';

const FIELDS = 18;

/** Fields by their places (D. Feitelson: The Standard Workload Format, version 2.2), from 0 on. */
const SUBMIT = 1;
const RUN_TIME = 3;
const PROCESSORS = 4;
const PROCESSORS_ASKED = 7;
const TIME_ASKED = 8;
const USER = 11;
const PROGRAM = 13;

/**
 * The Standard Workload Format of the Parallel Workloads Archive. A parallel job becomes as many tasks as it had
 * processors, each as long as the job ran; the time that was asked for is its estimate.
 */
export const swf = {
  name: 'swf',
  aJob: 'no line is a job that ran: 18 numbers, the fourth its run time in seconds',
  endings: ['.swf'],
  recognises: (firstLine) => {
    const fields = firstLine.trim().split(/\s+/);
    // `.tr` has no numbers below 0, with which this format says that something is not known.
    return firstLine.trimStart().startsWith(';') || (fields.length === FIELDS && fields.includes('-1'));
  },
  read: readSwf,
} as const satisfies TraceFormat;

/**
 * Jobs in file order, in batches as they are read.
 *
 * @throws WorkloadError with file and line at the first line that is wrong
 */
async function* readSwf(file: string, tally = new Tally()): AsyncGenerator<PackedJobs> {
  const packer = new JobPacker();
  let line = 0;
  for await (const lines of readLineBatches(file)) {
    for (const text of lines) {
      line++;
      const trimmed = text.trim();
      if (trimmed === '' || trimmed.startsWith(';')) continue;
      addJob(packer, numbersOf(trimmed, file, line), tally);
    }
    yield packer.take();
  }
}

function numbersOf(text: string, file: string, line: number): number[] {
  const fields = text.split(/\s+/);
  if (fields.length !== FIELDS) {
    throw new WorkloadError(
      `the line has ${fields.length} fields in place of ${FIELDS}`,
      'a line is a job of 18 numbers',
      {
        file,
        line,
      },
    );
  }
  const numbers = fields.map(Number);
  const place = numbers.findIndex((value) => !Number.isFinite(value));
  if (place >= 0) {
    throw new WorkloadError(
      `field ${place + 1} is ${quote(fields[place]!)}`,
      'it is a number; -1 says not known',
      {
        file,
        line,
      },
    );
  }
  return numbers;
}

function addJob(packer: JobPacker, numbers: readonly number[], tally: Tally): void {
  // −1: it is not known.
  const known = (place: number): number | undefined => (numbers[place]! < 0 ? undefined : numbers[place]);
  const [submit, runTime] = [known(SUBMIT), known(RUN_TIME)];
  const tasks = known(PROCESSORS) || known(PROCESSORS_ASKED);
  if (submit === undefined)
    return tally.add({ code: 'jobs-without-submission', what: 'jobs without a submission: left out' });
  if (runTime === undefined || tasks === undefined || tasks === 0) {
    return tally.add({
      code: 'jobs-never-run',
      what: 'jobs without a run time or processors, which never ran: left out',
    });
  }
  const [asked, user, program] = [known(TIME_ASKED), known(USER), known(PROGRAM)];
  packer.roomFor(tasks).fill(runTime);
  packer.close(submit, runTime, tasks, {
    ...present({ estimateSeconds: asked }),
    ...(user === undefined ? {} : { user: `${user}` }),
    ...(program === undefined ? {} : { logicalName: `${program}` }),
  });
}

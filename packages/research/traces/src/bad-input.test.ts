import { execFile } from 'node:child_process';
import { appendFile, mkdir, mkdtemp, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { convertTrace } from './convert.js';
import { WorkloadError } from './errors.js';
import { jobRow, taskRow, writeTables } from './formats/google2011/tables.fixture.js';
import { collect, jobOf } from './job.js';
import { preparePrototype } from './prototype.js';
import { openWorkload } from './workload.js';

let parent: string;
beforeAll(async () => {
  parent = await mkdtemp(join(tmpdir(), 'goshawk-bad-input-'));
});
afterAll(() => rm(parent, { recursive: true }));

const JOBS = [
  jobRow(10, 1, 'submit'),
  jobRow(15, 1, 'finish'),
  jobRow(20, 2, 'submit'),
  jobRow(25, 2, 'finish'),
];
const TASKS = [1, 2].flatMap((job) => [
  taskRow(10 * job, job, 0, 'submit'),
  taskRow(10 * job + 1, job, 0, 'schedule'),
  taskRow(10 * job + 5, job, 0, 'finish'),
]);
const PART = 'part-00000-of-00500.csv';

async function tables({ jobs = JOBS, tasks = TASKS, gzip = false } = {}): Promise<string> {
  return writeTables(parent, { job_events: [jobs], task_events: [tasks] }, { gzip });
}

async function fileOf(content: string | Buffer): Promise<string> {
  const file = join(await mkdtemp(join(parent, 'file-')), 'trace');
  await writeFile(file, content);
  return file;
}

async function halve(file: string): Promise<void> {
  const bytes = await readFile(file);
  await writeFile(file, bytes.subarray(0, bytes.length >> 1));
}

/** A table row with one column replaced. */
function withColumn(row: string, column: number, text: string): string {
  return row.split(',').with(column, text).join(',');
}

/** The defect, a workload that has it, and the expected error after the path of the workload. */
const CASES: readonly (readonly [what: string, make: () => Promise<string>, line: RegExp])[] = [
  [
    'a sample of Google events in which time goes backwards',
    async () => {
      const text = await readFile(join(import.meta.dirname, '../samples/task-events-sample.csv'), 'utf8');
      return fileOf(text.replace('21000000', '0'));
    },
    /^:9: column 1, the time, is '0'; rows must be in order of time: sort the file by its first column$/,
  ],
  [
    'a line with an absurd number of keys',
    () => fileOf(`{"schema":"goshawk.trace/1"}\n{${'"k":1,'.repeat(100_001)}"z":1}\n`),
    /^:2: the line is not a job: it has more than 100,000 keys; write one job per line$/,
  ],
  [
    'a truncated gzip part',
    async () => {
      const folder = await tables({ gzip: true });
      await halve(join(folder, 'task_events', `${PART}.gz`));
      return folder;
    },
    /^\/task_events\/part-00000-of-00500\.csv\.gz:\d+: the gzip data ends too early; copy or download the file again$/,
  ],
  [
    'a truncated gzip file',
    async () => {
      const file = await fileOf(
        gzipSync(Array.from({ length: 2000 }, (_, i) => `${i} 1 ${i} ${i}`).join('\n')),
      );
      await halve(file);
      return file;
    },
    /^:\d+: the gzip data ends too early; /,
  ],
  [
    'a row with too few columns',
    () => tables({ tasks: TASKS.with(3, '21000000,,2,0') }),
    /^\/task_events\/part-00000-of-00500\.csv:4: the line has 4 columns instead of 13; /,
  ],
  [
    'a row with too many columns',
    () => tables({ jobs: JOBS.with(1, `${JOBS[1]},more`) }),
    /^\/job_events\/part-00000-of-00500\.csv:2: the line has 9 columns instead of 8; /,
  ],
  [
    'a line with too few durations',
    () => fileOf('0 1 5 5\n1 3 5 5 5\n'),
    /^:2: 1 of 3 task durations is missing; /,
  ],
  ['a duration of NaN', () => fileOf('0 1 5 5\n1 2 5 NaN 5\n'), /^:2: duration 1 of 2 is 'NaN'; /],
  [
    'a duration of null',
    () => fileOf('{"schema":"goshawk.trace/1"}\n{"submitSeconds":0,"durationsSeconds":[null]}\n'),
    /^:2: durationsSeconds\[0\] is 'null'; it must be a number of seconds, at least 0$/,
  ],
  [
    'an invalid number',
    () => tables({ tasks: TASKS.with(1, withColumn(TASKS[1]!, 3, 'first')) }),
    /^\/task_events\/part-00000-of-00500\.csv:2: column 4, the task index, is 'first'; it must be a whole number$/,
  ],
  [
    'a missing time',
    () => tables({ jobs: JOBS.with(0, withColumn(JOBS[0]!, 0, '')) }),
    /^\/job_events\/part-00000-of-00500\.csv:1: column 1, the time, is empty; it must be a whole number$/,
  ],
  [
    'an unknown event',
    () => tables({ jobs: JOBS.with(3, withColumn(JOBS[3]!, 3, '9')) }),
    /^\/job_events\/part-00000-of-00500\.csv:4: column 4, the event type, is '9'; it must be a number from 0 to 8$/,
  ],
  [
    'a request of NaN',
    () => tables({ tasks: TASKS.with(3, withColumn(TASKS[3]!, 10, 'NaN')) }),
    /^\/task_events\/part-00000-of-00500\.csv:4: column 11, the memory request, is 'NaN'; it must be a number of at least 0$/,
  ],
  [
    'times that go backwards in a part',
    () => tables({ tasks: TASKS.with(2, taskRow(9, 1, 0, 'finish')) }),
    /^\/task_events\/part-00000-of-00500\.csv:3: time goes backwards: 9000000 µs comes after 11000000 µs; /,
  ],
  [
    'times that go backwards from part to part',
    () => writeTables(parent, { job_events: [JOBS.slice(2), JOBS.slice(0, 2)], task_events: [TASKS] }),
    /^\/job_events\/part-00001-of-00500\.csv:1: time goes backwards: 10000000 µs comes after 25000000 µs; /,
  ],
  ['an empty trace', () => fileOf(''), /^: the trace is empty; /],
  [
    'an empty folder',
    () => mkdtemp(join(parent, 'empty-')),
    /^: this is an empty folder; use a trace file, or /,
  ],
  [
    'a folder of something else',
    async () => {
      const folder = await mkdtemp(join(parent, 'other-'));
      await writeFile(join(folder, 'notes.txt'), 'none');
      return folder;
    },
    /^: this is a folder without a known trace; /,
  ],
  [
    'a missing table',
    () => writeTables(parent, { task_events: [TASKS] }),
    /^: the folder has no job_events; .* read from both tables/,
  ],
  [
    'a table without parts',
    () => writeTables(parent, { job_events: [], task_events: [TASKS] }),
    /^\/job_events: the folder has no parts; /,
  ],
  [
    'a duplicate table',
    async () => {
      const folder = await tables();
      await writeFile(join(folder, 'job_events.csv'), 'none');
      return folder;
    },
    /^: the folder has job_events 2 times: job_events, job_events\.csv; keep one of them$/,
  ],
  [
    'an empty part',
    () => tables({ tasks: [] }),
    /^\/task_events\/part-00000-of-00500\.csv: the part is empty; /,
  ],
  [
    'a missing part between two',
    async () => {
      const folder = await tables();
      await writeFile(join(folder, 'job_events', 'part-00002-of-00500.csv'), 'none');
      return folder;
    },
    /^\/job_events: part 1 is missing between 0 and 2; /,
  ],
  [
    'a duplicate part',
    async () => {
      const folder = await tables();
      await writeFile(join(folder, 'job_events', `${PART}.gz`), 'none');
      return folder;
    },
    /^\/job_events: part 0 exists twice, plain and gzipped; /,
  ],
  [
    'the folder of one table',
    async () => join(await tables(), 'task_events'),
    /^: this is only a part of the official Google trace; use the folder that contains both job_events and task_events$/,
  ],
  [
    'one part of one table',
    async () => join(await tables(), 'task_events', PART),
    /^: this is only a part of the official Google trace; use the folder /,
  ],
  [
    'tables without jobs',
    () => tables({ tasks: TASKS.filter((_, i) => i % 3 === 0) }),
    /^: no job in these parts has a finished task \(2 jobs with tasks that wait or run when the parts end: omitted\); /,
  ],
];

const TOO_LARGE = /^:1: the document is larger than 64 MiB, or has too many values for memory; /;

/** Small files whose reading took gigabytes or minutes, and files of other kinds. */
const EXTREMES: typeof CASES = [
  [
    'a pipe',
    async () => {
      const path = join(await mkdtemp(join(parent, 'pipe-')), 'pipe');
      await promisify(execFile)('mkfifo', [path]);
      return path;
    },
    /^: this is a pipe or a device; write its data to a file first$/,
  ],
  [
    'a pointer of Git LFS',
    () => fileOf('version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 12\n'),
    /^: the file is a pointer to a file in Git LFS; download the file itself: git lfs pull$/,
  ],
  [
    'a table whose header has a million columns',
    () => fileOf(`submit,duration,${'c,'.repeat(1_000_000)}d\n`),
    /^:1: the line is longer than 1 MiB; /,
  ],
  [
    'a table whose header has thousands of columns',
    () => fileOf(`submit,duration${Array.from({ length: 5_000 }, (_, i) => `,c${i}`).join('')}\n`),
    /^:1: the header has 5002 columns, more than 4096; /,
  ],
  [
    'a row of millions of empty cells',
    () => fileOf(`JobID|Submit|ElapsedRaw\n${'|'.repeat(4_000_000)}\n`),
    /^:2: the line is longer than 1 MiB; /,
  ],
  [
    'an SWF line of millions of fields',
    () => fileOf(`; SWF\n${'1 '.repeat(4_000_000)}\n`),
    /^:2: the line has more than 100 fields instead of 18; /,
  ],
  [
    'a job of too many tasks',
    () =>
      fileOf(
        `{"schema":"goshawk.trace/1"}\n{"submitSeconds":0,"durationsSeconds":[${'1,'.repeat(1_000_000)}1]}\n`,
      ),
    /^:2: durationsSeconds has 1000001 tasks; a job has at most 1000000$/,
  ],
  [
    'a .tr job of too many tasks',
    () => fileOf(`0 1000001 1${' 1'.repeat(1_000_001)}\n`),
    /^:1: the number of tasks is '1000001'; it must be a whole number from 1 to 1000000$/,
  ],
  [
    'JSON lists nested a hundred thousand deep',
    () => fileOf(`{"workflow":{"tasks":${'['.repeat(100_000)}${']'.repeat(100_000)}}}`),
    /^:1: values are nested more than 100 deep; /,
  ],
  [
    'JSON lists that never end',
    () => fileOf(`{"workflow":{"tasks":${'['.repeat(30_000_000)}`),
    /^:1: values are nested more than 100 deep; /,
  ],
  [
    'millions of empty lists',
    () => fileOf(`{"workflow":{"tasks":[${'[],'.repeat(4_000_000)}[]]}}`),
    TOO_LARGE,
  ],
  ['millions of numbers', () => fileOf(`{"workflow":{"tasks":[${'1,'.repeat(16_000_000)}1]}}`), TOO_LARGE],
  [
    'a Philly job of millions of attempts',
    () => fileOf(`[{"attempts":[${'{},'.repeat(4_000_000)}{}]}]`),
    TOO_LARGE,
  ],
  [
    'an unfinished string of millions of escapes',
    () => fileOf(`{"workflow":{"name":"${'\\n'.repeat(8_000_000)}`),
    /^:1: /,
  ],
  [
    'a document whose last byte is missing',
    () => fileOf(JSON.stringify({ workflow: { tasks: Array(200_000).fill({ name: 'a' }) } }).slice(0, -1)),
    /^:1: the JSON document ends too early; copy or export the file again$/,
  ],
  [
    'a list of Philly jobs that is cut off between two jobs',
    () => fileOf('[\n{"attempts":[]},\n'),
    /^:3: the JSON document ends too early; copy or export the file again$/,
  ],
  ['two Philly lists', () => fileOf('[{"attempts":[]}]\n[]'), /^:2: column 1: not JSON: '\[\]'; /],
  [
    'Philly jobs without a comma',
    () => fileOf('[{"attempts":[]}\n  {}]'),
    /^:2: column 3: not JSON: '\{\}\]'; /,
  ],
  [
    'Philly jobs with a comma too many',
    () => fileOf('[{"attempts":[]},]'),
    /^:1: column 18: not JSON: '\]'; /,
  ],
  [
    'a fault in the second Philly job',
    () => fileOf('[{"attempts":[]},\n {"attempts":[],\n "vc" 1}]'),
    /^:3: column 7: not JSON: '1\}'; /,
  ],
  ['a Philly object', () => fileOf('{"attempts":[]}'), /^:1: the document is '\{…\}'; it must be a list$/],
  [
    'a wrong value in the second Philly job',
    () => fileOf('[{"attempts":[]},\n {"attempts":[],\n "vc": 1},\n{"attempts": 7}]'),
    /^:4: \[2\]\.attempts is '7'; it must be a list$/,
  ],
  [
    'XML tags nested without end',
    () => fileOf(`<adag>${'<a>'.repeat(5_000_000)}`),
    /^:1: tags are nested more than 100 deep; /,
  ],
  [
    'a DAX of a million jobs',
    () =>
      fileOf(
        `<adag>${Array.from({ length: 1_000_000 }, (_, i) => `<job id="${i}" runtime="1"/>`).join('')}</adag>`,
      ),
    /^:1: the workflow has more than 100000 tasks; /,
  ],
  [
    'a workflow of 200,000 tasks',
    () => fileOf(JSON.stringify({ workflow: { tasks: Array(200_000).fill({ name: 'a' }) } })),
    /^:1: the workflow has more than 100000 tasks; /,
  ],
  [
    'a Batsim profile that repeats others 50^18 times',
    () => {
      const repeated = Array.from({ length: 18 }, (_, i) => [
        `p${i}`,
        { type: 'composed', seq: Array<string>(50).fill(`p${i + 1}`) },
      ]);
      const profiles = { ...Object.fromEntries(repeated), p18: { type: 'delay', delay: 1 } };
      const jobs = [{ id: 1, subtime: 0, res: 1, profile: 'p0' }];
      return fileOf(JSON.stringify({ nb_res: 1, jobs, profiles }));
    },
    /^: the trace contains no usable job \(1 jobs whose profile is not a delay/,
  ],
  [
    'Batsim profiles nested twenty thousand deep',
    () => {
      const nested = Array.from({ length: 20_000 }, (_, i) => [
        `p${i}`,
        { type: 'composed', seq: [`p${i + 1}`] },
      ]);
      const profiles = { ...Object.fromEntries(nested), p20000: { type: 'delay', delay: 1 } };
      const jobs = [{ id: 1, subtime: 0, res: 1, profile: 'p0' }];
      return fileOf(JSON.stringify({ nb_res: 1, jobs, profiles }));
    },
    /^:1: profiles\.p1001 is '"p1001"'; profiles may be nested 1000 deep$/,
  ],
  [
    'a Batsim profile that contains itself',
    () => {
      const profiles = { p: { type: 'composed', seq: ['p', 'p'] } };
      const jobs = [{ id: 1, subtime: 0, res: 1, profile: 'p' }];
      return fileOf(JSON.stringify({ nb_res: 1, jobs, profiles }));
    },
    /^: the trace contains no usable job \(1 jobs whose profile is not a delay/,
  ],
];

describe.each([...CASES, ...EXTREMES])('%s', (_, make, line) => {
  it('is reported in one line with its location, and nothing is written', async () => {
    const path = await make();
    const out = await mkdtemp(join(parent, 'out-'));
    const failure = await (async () => convertTrace(await openWorkload(path), join(out, 'x.tr')))().catch(
      (error: unknown) => error,
    );
    expect(failure).toBeInstanceOf(WorkloadError);
    const { message } = failure as Error;
    expect(message.startsWith(path)).toBe(true);
    expect(message.slice(path.length)).toMatch(line);
    expect(message).not.toContain('\n');
    expect(await readdir(out)).toEqual([]);
  });
});

it('a trace that fails while it is written leaves no partial file', async () => {
  const file = await fileOf('0 1 5 5\n1 1 5 5\n');
  const workload = await openWorkload(file, { heldTasksMax: 1 });
  await appendFile(file, '2 1 5\n');
  const out = await mkdtemp(join(parent, 'out-'));
  await expect(convertTrace(workload, join(out, 'x.tr'))).rejects.toThrow(
    'trace:3: 1 of 1 task durations is missing',
  );
  expect(await readdir(out)).toEqual([]);
});

it('a part that cannot be opened is named in the error', async () => {
  const folder = await tables();
  await mkdir(join(folder, 'task_events', 'part-00001-of-00500.csv'));
  await expect(openWorkload(folder)).rejects.toThrow('part-00001-of-00500.csv: this is a folder; ');
  await rename(join(folder, 'task_events'), join(folder, 'task_events.csv'));
  await expect(openWorkload(folder)).rejects.toThrow(/part-00001-of-00500\.csv: this is a folder/);
});

it('a job of 5,000 tasks fits three workers', async () => {
  const { jobs } = await preparePrototype([jobOf(0, new Float64Array(5000).fill(1))], {
    workers: 3,
    scale: 1,
  });
  expect(jobs.map((job) => job.durationsSeconds.length)).toEqual([3]);
});

it('a workflow in which one task waits for all others is ordered in linear time', async () => {
  const names = Array.from({ length: 60_000 }, (_, i) => `t${i}`);
  const last = { name: 'last', runtime: 1, parents: [...names] };
  const tasks = [last, ...names.map((name) => ({ name, runtime: 1, parents: [] }))];
  const file = await fileOf(JSON.stringify({ workflow: { tasks } }));
  const [job] = await collect((await openWorkload(file)).jobs());
  expect(job!.stages!.at(-1)!.after.length).toBe(60_000);
});

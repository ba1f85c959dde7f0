import { readdirSync, readFileSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { GENERATORS } from '../generators/index.js';
import { collect, type TraceJob } from '../job.js';
import { openWorkload } from '../workload.js';
import { detectFormat, FORMATS } from './index.js';

const SAMPLES = join(import.meta.dirname, '../../samples');
const DOCS = join(import.meta.dirname, '../../../../../docs');
const GIB = 2 ** 30;

/** Facts of a sample, counted manually: jobs, tasks, task seconds, and the demand of each task. */
interface Counted {
  readonly format: string;
  readonly jobs: number;
  readonly tasks: number;
  readonly taskSeconds: number;
  readonly demands: readonly unknown[];
  readonly tallied: Readonly<Record<string, number>>;
}

const COUNTED: Readonly<Record<string, Counted>> = {
  'small.tr': {
    format: 'tr',
    jobs: 3,
    tasks: 3 + 1 + 4,
    taskSeconds: 6 + 30 + 2,
    demands: [undefined, undefined, undefined],
    tallied: {},
  },
  'stages.jsonl': {
    format: 'jsonl',
    jobs: 3,
    tasks: 3 + 1 + 1 + 4,
    taskSeconds: 6 + 4 + 30 + 2,
    demands: [[undefined, { cpu: 1, memory: GIB }], { cpu: 1, gpu: 1 }, undefined],
    tallied: {},
  },
  'journal.jsonl': {
    format: 'journal',
    jobs: 1,
    tasks: 2,
    taskSeconds: 0.25 + 0.75,
    demands: [undefined],
    tallied: { 'jobs-not-ended': 1 },
  },
  google2011: {
    format: 'google2011',
    jobs: 1,
    tasks: 2,
    taskSeconds: 30 + 30,
    demands: [undefined],
    tallied: {
      'jobs-before-trace': 1,
      'jobs-nothing-finished': 1,
      'tasks-killed': 1,
      'tasks-run-again': 1,
    },
  },
  'slurm.sacct': {
    format: 'sacct',
    jobs: 4,
    tasks: 2 + 1 + 1 + 1,
    taskSeconds: 2 * 600 + 3_600 + 30 + 20,
    demands: [
      { cpu: 32, memory: 64 * GIB },
      { cpu: 8, memory: 32 * GIB, gpu: 2 },
      { cpu: 1, memory: 2 * GIB },
      { cpu: 1, memory: 2 * GIB },
    ],
    tallied: {
      'columns-not-read': 1,
      'job-steps': 2,
      'jobs-failed': 2,
      'jobs-never-run': 1,
      'jobs-not-ended': 2,
    },
  },
  'parallel.swf': {
    format: 'swf',
    jobs: 3,
    tasks: 4 + 2 + 1,
    taskSeconds: 400 + 200 + 30,
    demands: [{ memory: 1024 * 1024 }, undefined, undefined],
    tallied: {
      'columns-not-read': 3,
      gangs: 2,
      'jobs-failed': 1,
      'jobs-never-run': 2,
      'partial-executions': 2,
    },
  },
  'jobs.csv': {
    format: 'csv',
    jobs: 2,
    tasks: 12,
    taskSeconds: 2 * 3_600 + 10 * 60,
    demands: [
      { cpu: 4, memory: 16 * GIB, gpu: 1 },
      { cpu: 1, memory: GIB / 2 },
    ],
    tallied: { 'columns-not-read': 1, 'jobs-failed': 1, 'jobs-never-run': 1, 'jobs-not-ended': 1 },
  },
  'alibaba/batch_task_2017.csv': {
    format: 'alibaba2017',
    jobs: 2,
    tasks: 3 + 2 + 1,
    taskSeconds: 300 + 200 + 50,
    demands: [
      { cpu: 0.5, memory: 0.01 },
      [
        { cpu: 0.5, memory: 0.01 },
        { cpu: 1, memory: 0.02 },
      ],
    ],
    tallied: { 'jobs-before-trace': 1, 'stages-not-ended': 1 },
  },
  'alibaba/batch_task_2018.csv': {
    format: 'alibaba2018',
    jobs: 3,
    tasks: 1 + (3 + 1 + 2) + 4,
    taskSeconds: 40 + (60 + 30 + 20) + 4,
    demands: [
      { cpu: 0.5, memory: 0.2 },
      [
        { cpu: 1, memory: 0.5 },
        { cpu: 1, memory: 0.5 },
        { cpu: 0.5, memory: 0.25 },
      ],
      { cpu: 2, memory: 1 },
    ],
    tallied: { 'columns-not-read': 1, 'stages-not-ended': 1 },
  },
  'workflow.json': {
    format: 'wfcommons',
    jobs: 1,
    tasks: 4,
    taskSeconds: 35.500001,
    demands: [[{ cpu: 1 }, { cpu: 2, memory: 1_048_576 }, undefined, undefined]],
    tallied: { 'stages-of-no-time': 1 },
  },
  'diamond.dax': {
    format: 'dax',
    jobs: 1,
    tasks: 4,
    taskSeconds: 36.75,
    demands: [[undefined, undefined, undefined, undefined]],
    tallied: {},
  },
  'batsim.json': {
    format: 'batsim',
    jobs: 3,
    tasks: 4 + 1 + 2,
    taskSeconds: 40 + 15 + 20,
    demands: [undefined, undefined, undefined],
    tallied: { 'jobs-over-walltime': 1, 'jobs-without-delay': 1 },
  },
  azure2019: {
    format: 'azure2019',
    jobs: 7,
    tasks: 7,
    taskSeconds: 3 * 0.25 + 4,
    demands: Array(7).fill(undefined),
    tallied: { 'invocations-spread': 1, 'invocations-without-duration': 5 },
  },
  'philly.json': {
    format: 'philly',
    jobs: 2,
    tasks: 4 + 1,
    taskSeconds: 4 * 600 + 30,
    demands: [{ gpu: 1 }, { gpu: 1 }],
    tallied: {
      'attempts-before-last': 1,
      'attempts-without-times': 1,
      'fields-not-read': 1,
      gangs: 1,
      'jobs-failed': 1,
      'jobs-never-run': 1,
    },
  },
  'task-events-sample.csv': {
    format: 'google2011-sample',
    jobs: 1,
    tasks: 2,
    taskSeconds: 10 + 20,
    demands: [undefined],
    tallied: { 'jobs-cut-off': 1 },
  },
  'instance_events.csv': {
    format: 'google2019',
    jobs: 1,
    tasks: 2,
    taskSeconds: 60 + 10,
    demands: [undefined],
    tallied: {
      'columns-not-read': 1,
      'alloc-sets': 1,
      'jobs-before-trace': 1,
      'tasks-killed': 1,
      'jobs-nothing-finished': 1,
      'tasks-run-again': 1,
    },
  },
  'jobs.sls': {
    format: 'sls',
    jobs: 2,
    tasks: 3 + 5,
    taskSeconds: 17.043 + 14.928 + 6 + 10,
    demands: [[undefined, { cpu: 2, memory: 2 * GIB }], { memory: GIB }],
    tallied: { 'fields-not-read': 2, 'queues-lost': 1 },
  },
};

/** Formats whose samples have nothing to count manually, with the reason. */
const NOT_COUNTED: Readonly<Record<string, string>> = {
  'past-jobs.csv': 'gtrace-dag draws the tasks of its stages',
};

it.each(Object.values(FORMATS))(
  '$name has a sample, which is counted manually, and a row in the documents',
  async (format) => {
    const { name, sample } = format;
    expect((await detectFormat(join(SAMPLES, sample))).name).toBe(name);
    expect(Object.keys({ ...COUNTED, ...NOT_COUNTED })).toContain(sample);
    expect(ROWS, `docs/*.md: a row of a table that begins with \`${name}\``).toContain(name);
  },
);

/** Names at the beginning of a row of a table in the documents: "| `wfcommons`, `dax` |". */
const ROWS = readdirSync(DOCS).flatMap((file) =>
  file.endsWith('.md')
    ? [...readFileSync(join(DOCS, file), 'utf8').matchAll(/^\|((?:,? `[\w-]+`)+) \|/gm)].flatMap(
        ([, names]) => [...names!.matchAll(/`([\w-]+)`/g)].map(([, name]) => name),
      )
    : [],
);

it.each(Object.keys(GENERATORS))('the generator %s has a row in the documents', (name) => {
  expect(ROWS, `docs/*.md: a row of a table that begins with \`${name}\``).toContain(name);
});

function demandOf({ stages, demand }: TraceJob): unknown {
  return stages === undefined ? demand : stages.map((stage) => stage.demand);
}

describe.each(Object.entries(COUNTED))('%s', (name, counted) => {
  it('has the manually counted jobs, work and demands', async () => {
    const path = join(SAMPLES, name);
    expect((await detectFormat(path)).name).toBe(counted.format);
    const workload = await openWorkload(path);
    const jobs = await collect(workload.jobs());
    expect(jobs.length).toBe(counted.jobs);
    const durations = jobs.flatMap(({ durationsSeconds }) => [...durationsSeconds]);
    expect(durations.length).toBe(counted.tasks);
    expect(durations.reduce((sum, seconds) => sum + seconds, 0)).toBeCloseTo(counted.taskSeconds, 9);
    expect(jobs.map(demandOf)).toEqual(counted.demands);
    expect(Object.fromEntries(workload.tallied.map(({ code, count }) => [code, count]))).toEqual(
      counted.tallied,
    );
  });
});

it.each(Object.keys({ ...COUNTED, ...NOT_COUNTED }))('%s: a signal stops the reading', async (name) => {
  const reason = new Error('interrupted');
  const opened = openWorkload(join(SAMPLES, name), { signal: AbortSignal.abort(reason) });
  await expect(opened).rejects.toBe(reason);
});

async function jobsOf(name: string): Promise<TraceJob[]> {
  return collect((await openWorkload(join(SAMPLES, name))).jobs());
}

it('sacct: times count from the first submission, limits are estimates, waits and names are kept', async () => {
  const jobs = await jobsOf('slurm.sacct');
  expect(jobs.map(({ submitSeconds }) => submitSeconds)).toEqual([0, 30, 60, 60]);
  expect(jobs.map(({ waitSeconds }) => waitSeconds)).toEqual([10, 300, 0, 5]);
  expect(jobs.map(({ name, user }) => [name, user])).toEqual([
    ['solve', 'ann'],
    ['train a|b', 'bob'],
    ['sweep', 'ann'],
    ['sweep', 'ann'],
  ]);
  expect(jobs.map(({ estimateSeconds }) => estimateSeconds)).toEqual([3_600, 3_600, 600, 600]);
});

it('csv: quotes, priority and deadline, and times of any time zone', async () => {
  expect(await jobsOf('jobs.csv')).toMatchObject([
    {
      submitSeconds: 0,
      name: 'train, "big"',
      user: 'ann',
      priority: 'high',
      deadlineSeconds: 7_200,
      waitSeconds: 30,
    },
    { submitSeconds: 10.5, name: 'sweep', priority: 'normal', waitSeconds: 10 },
  ]);
});

it('Alibaba 2018: a job is submitted with its first stage, even a failed one; numbers repeat', async () => {
  const [first, second] = await jobsOf('alibaba/batch_task_2018.csv');
  expect(first!.submitSeconds).toBe(100);
  expect(second!.stages!.map(({ after }) => after)).toEqual([[], [], [0, 1]]);
});

it.each(['workflow.json', 'diamond.dax'])('%s: tasks wait for their parents', async (name) => {
  const [job] = await jobsOf(name);
  expect(job!.name).toBe('diamond');
  expect(job!.stages!.map(({ after }) => [...after].sort())).toEqual([[], [0], [0], [1, 2]]);
});

it('batsim and sls: submissions', async () => {
  expect((await jobsOf('batsim.json')).map(({ submitSeconds }) => submitSeconds)).toEqual([1.5, 2, 3]);
  const [first, second] = await jobsOf('jobs.sls');
  expect(first!.stages!.map(({ after }) => after)).toEqual([[], [0]]);
  expect(second!.submitSeconds).toBe(1.5);
});

it('azure2019: invocations of a minute are spread over it', async () => {
  expect((await jobsOf('azure2019')).map(({ submitSeconds }) => submitSeconds)).toEqual([
    0, 30, 60, 75, 90, 105, 120,
  ]);
});

it('google2019: events in any order, as rows or objects, and with names of types', async () => {
  const [job] = await jobsOf('instance_events.csv');
  expect(job).toMatchObject({
    submitSeconds: 690,
    schedulingClass: 2,
    machineShare: { cpu: 0.02, memory: 0.01 },
  });
  const [header, ...rows] = (await readFile(join(SAMPLES, 'instance_events.csv'), 'utf8')).trim().split('\n');
  const objects = rows.map((row) => {
    const of = Object.fromEntries(row.split(',').map((cell, place) => [header!.split(',')[place], cell]));
    const request = {
      cpus: Number(of['resource_request.cpus']),
      memory: Number(of['resource_request.memory']),
    };
    const type = of.type === '3' ? 'SCHEDULE' : of.type;
    return JSON.stringify({ ...of, type, resource_request: request });
  });
  const folder = await mkdtemp(join(tmpdir(), 'goshawk-google2019-'));
  try {
    const file = join(folder, 'instance_events.json');
    await writeFile(file, objects.join('\n'));
    expect((await detectFormat(file)).name).toBe('google2019');
    expect(await collect((await openWorkload(file)).jobs())).toEqual([job]);
  } finally {
    await rm(folder, { recursive: true });
  }
});

it('Alibaba 2017: the header may have the names in the schema of the trace', async () => {
  const names =
    'task_create_time, task_end_time, job id, task_id,number_of_instances, status, number_of_cpus_requested_per_instance_in_the_task,normalized_memory_requested_per_instance_in_the_task';
  const text = await readFile(join(SAMPLES, 'alibaba/batch_task_2017.csv'), 'utf8');
  const rows = text.trim().split('\n');
  const plain = rows.filter((row) => !row.startsWith('create_timestamp'));
  const folder = await mkdtemp(join(tmpdir(), 'goshawk-alibaba-'));
  try {
    const file = join(folder, 'batch_task.csv');
    await writeFile(file, [names, ...plain].join('\n'));
    expect((await detectFormat(file)).name).toBe('alibaba2017');
    expect(await collect((await openWorkload(file)).jobs())).toEqual(
      await jobsOf('alibaba/batch_task_2017.csv'),
    );
  } finally {
    await rm(folder, { recursive: true });
  }
});

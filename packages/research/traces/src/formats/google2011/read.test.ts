import { mkdir, mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { collect, type TraceJob } from '../../job.js';
import { flattened } from '../../packed-jobs.js';
import { Tally } from '../../tally.js';
import { readGoogle2011 } from './read.js';
import { inOrder, jobRow, type Parts, taskRow, writeTables } from './tables.fixture.js';

let parent: string;
beforeAll(async () => {
  parent = await mkdtemp(join(tmpdir(), 'goshawk-google2011-'));
});
afterAll(() => rm(parent, { recursive: true }));

async function read(job_events: Parts, task_events: Parts, options: { gzip?: boolean } = {}) {
  const tally = new Tally();
  const folder = await writeTables(parent, { job_events, task_events }, options);
  const jobs = await collect(flattened(readGoogle2011(folder, tally)));
  return { jobs, counts: Object.fromEntries(tally.list().map(({ code, count }) => [code, count])) };
}

function durations(jobs: readonly TraceJob[]): Record<string, number[]> {
  return Object.fromEntries(jobs.map((job) => [job.name!, [...job.durationsSeconds]]));
}

/** A job that runs one task from 11 s to 15 s, so that every trace has a job. */
const PLAIN = {
  job: [jobRow(10, 1, 'submit'), jobRow(15, 1, 'finish')],
  task: [taskRow(10, 1, 0, 'submit'), taskRow(11, 1, 0, 'schedule'), taskRow(15, 1, 0, 'finish')],
};

describe('a job', () => {
  it('has the times of its tasks, in order of index, and its properties in the tables', async () => {
    const { jobs, counts } = await read(
      [[jobRow(10, 3418309, 'submit'), jobRow(10, 3418309, 'schedule'), jobRow(40.5, 3418309, 'finish')]],
      [
        [
          taskRow(10, 3418309, 1, 'submit'),
          taskRow(10, 3418309, 0, 'submit'),
          taskRow(11, 3418309, 1, 'schedule'),
          taskRow(12.000001, 3418309, 0, 'schedule'),
          taskRow(13, 3418309, 0, 'updateRunning'),
          taskRow(14.25, 3418309, 0, 'finish'),
          taskRow(40.5, 3418309, 1, 'finish'),
        ],
      ],
    );
    expect(jobs).toEqual([
      {
        submitSeconds: 10,
        durationsSeconds: Float64Array.of(2.249999, 29.5),
        meanSeconds: 15.8749995,
        name: 'name3418309',
        user: 'user3418309',
        logicalName: 'logical3418309',
        schedulingClass: 1,
        machineShare: { cpu: 0.5, memory: 0.25, disk: 0.125 },
      },
    ]);
    expect(counts).toEqual({});
  });

  it('omits properties that are not recorded', async () => {
    const { jobs } = await read(
      [['10000000,,1,0,,,,']],
      [['10000000,2,1,0,,0,,,,,,,', '11000000,,1,0,5,1,,,,,,,', '12000000,,1,0,5,4,,,,,,,']],
    );
    expect(jobs).toEqual([{ submitSeconds: 10, durationsSeconds: Float64Array.of(1), meanSeconds: 1 }]);
  });

  it('has the largest requests of its tasks if they differ', async () => {
    const { jobs, counts } = await read(
      [PLAIN.job],
      [inOrder([...PLAIN.task, taskRow(10, 1, 1, 'submit', '0.1,0.75,'), taskRow(12, 1, 1, 'kill')])],
    );
    expect(jobs[0]!.machineShare).toEqual({ cpu: 0.5, memory: 0.75, disk: 0.125 });
    expect(counts['jobs-requests-differ']).toBe(1);
  });
});

describe('an attempt that does not finish', () => {
  it.each(['evict', 'fail', 'kill', 'lost'] as const)('%s: the last finished attempt counts', async (end) => {
    const { jobs, counts } = await read(
      [PLAIN.job.with(1, jobRow(99, 1, 'finish'))],
      [
        inOrder([
          taskRow(10, 1, 0, 'submit'),
          taskRow(11, 1, 0, 'schedule'),
          taskRow(31, 1, 0, end),
          taskRow(32, 1, 0, 'submit'),
          taskRow(33, 1, 0, 'schedule'),
          taskRow(40, 1, 0, 'finish'),
        ]),
      ],
    );
    expect(durations(jobs)).toEqual({ name1: [7] });
    expect(counts).toEqual({ 'tasks-run-again': 1 });
  });

  it.each([
    ['evict', 'tasks-evicted'],
    ['fail', 'tasks-failed'],
    ['kill', 'tasks-killed'],
    ['lost', 'tasks-lost'],
  ] as const)(
    '%s permanently: the task is omitted, and so is a job without other tasks',
    async (end, code) => {
      const { jobs, counts } = await read(
        [inOrder([...PLAIN.job, jobRow(10, 2, 'submit'), jobRow(14, 2, 'kill')])],
        [
          inOrder([
            ...PLAIN.task,
            taskRow(10, 1, 1, 'submit'),
            taskRow(11, 1, 1, 'schedule'),
            taskRow(12, 1, 1, end),
            taskRow(10, 2, 0, 'submit'),
            taskRow(13, 2, 0, end),
          ]),
        ],
      );
      expect(durations(jobs)).toEqual({ name1: [4] });
      expect(counts).toEqual({ [code]: 2, 'jobs-partly-finished': 1, 'jobs-nothing-finished': 1 });
    },
  );

  it('has no effect after one that finished', async () => {
    const { jobs } = await read(
      [PLAIN.job.with(1, jobRow(30, 1, 'kill'))],
      [
        [
          ...PLAIN.task,
          taskRow(16, 1, 0, 'submit'),
          taskRow(17, 1, 0, 'schedule'),
          taskRow(30, 1, 0, 'kill'),
        ],
      ],
    );
    expect(durations(jobs)).toEqual({ name1: [4] });
  });
});

describe('incomplete records are omitted and counted:', () => {
  it('jobs submitted before the trace began', async () => {
    const { jobs, counts } = await read(
      [[jobRow(0, 2, 'submit'), jobRow(0, 2, 'schedule'), ...PLAIN.job]],
      [[taskRow(0, 2, 0, 'submit'), taskRow(0, 2, 0, 'schedule'), taskRow(9, 2, 0, 'finish'), ...PLAIN.task]],
    );
    expect(durations(jobs)).toEqual({ name1: [4] });
    expect(counts).toEqual({ 'jobs-before-trace': 1 });
  });

  it('jobs submitted before the first part', async () => {
    const { jobs, counts } = await read(
      [[jobRow(9, 3, 'finish'), ...PLAIN.job]],
      [[taskRow(8, 2, 0, 'finish'), taskRow(8, 2, 1, 'finish'), taskRow(9, 3, 0, 'finish'), ...PLAIN.task]],
    );
    expect(durations(jobs)).toEqual({ name1: [4] });
    expect(counts).toEqual({ 'jobs-without-submission': 2 });
  });

  it('jobs that still wait or run at the end, even with finished tasks', async () => {
    const { jobs, counts } = await read(
      [[...PLAIN.job.slice(0, 1), jobRow(10, 2, 'submit'), jobRow(10, 3, 'submit'), ...PLAIN.job.slice(1)]],
      [
        inOrder([
          ...PLAIN.task,
          taskRow(10, 2, 0, 'submit'),
          taskRow(11, 2, 0, 'schedule'),
          taskRow(12, 2, 0, 'finish'),
          taskRow(11, 2, 1, 'submit'),
          taskRow(12, 3, 0, 'submit'),
          taskRow(12, 3, 0, 'schedule'),
        ]),
      ],
    );
    expect(durations(jobs)).toEqual({ name1: [4] });
    expect(counts).toEqual({ 'jobs-cut-off': 2 });
  });

  it('jobs whose last task events would be in the next part', async () => {
    const { counts } = await read(
      [[...PLAIN.job, jobRow(16, 2, 'submit'), jobRow(90, 2, 'finish'), jobRow(91, 3, 'submit')]],
      [[...PLAIN.task, taskRow(16, 2, 0, 'submit')]],
    );
    expect(counts).toEqual({ 'jobs-cut-off': 1, 'jobs-without-tasks': 1 });
  });

  it('tasks without a recorded start, or without an end long after that of the job', async () => {
    const { jobs, counts } = await read(
      [inOrder([...PLAIN.job, jobRow(999, 9, 'submit'), jobRow(1001, 9, 'finish')])],
      [
        inOrder([
          ...PLAIN.task,
          taskRow(10, 1, 1, 'submit'),
          taskRow(12, 1, 1, 'finish'),
          taskRow(10, 1, 2, 'submit'),
          taskRow(12, 1, 2, 'schedule'),
          taskRow(999, 9, 0, 'submit'),
          taskRow(1000, 1, 2, 'finish'),
          taskRow(1000, 9, 0, 'schedule'),
          taskRow(1001, 9, 0, 'finish'),
        ]),
      ],
    );
    expect(durations(jobs)).toEqual({ name1: [4], name9: [1] });
    expect(counts).toEqual({
      'tasks-without-start': 1,
      'tasks-without-end': 1,
      'jobs-partly-finished': 1,
      'events-late': 1,
    });
  });

  it('events after the end of the trace', async () => {
    const { jobs } = await read(
      [[...PLAIN.job, '9223372036854775807,,1,4,,,,']],
      [[...PLAIN.task, '9223372036854775807,,1,0,5,1,,,,,,,']],
    );
    expect(durations(jobs)).toEqual({ name1: [4] });
  });
});

it('treats a job that is submitted again under its id as a separate job', async () => {
  const { jobs, counts } = await read(
    [[...PLAIN.job, jobRow(20, 1, 'submit'), jobRow(23, 1, 'finish')]],
    [
      [
        ...PLAIN.task,
        taskRow(20, 1, 0, 'submit'),
        taskRow(21, 1, 0, 'schedule'),
        taskRow(23, 1, 0, 'finish'),
      ],
    ],
  );
  expect(jobs.map((job) => [job.submitSeconds, ...job.durationsSeconds])).toEqual([
    [10, 4],
    [20, 2],
  ]);
  expect(counts).toEqual({ 'jobs-submitted-again': 1 });
});

it('waits for the last task events of a job that has ended', async () => {
  const { jobs } = await read([[PLAIN.job[0]!, jobRow(14.9, 1, 'finish')]], [PLAIN.task]);
  expect(durations(jobs)).toEqual({ name1: [4] });
});

describe('the tables', () => {
  const jobRows = [...PLAIN.job, jobRow(20, 2, 'submit'), jobRow(23, 2, 'finish')];
  const taskRows = [
    ...PLAIN.task,
    taskRow(20, 2, 0, 'submit'),
    taskRow(21, 2, 0, 'schedule'),
    taskRow(23, 2, 0, 'finish'),
  ];
  const expected = { name1: [4], name2: [2] };

  it('are read part after part, plain or compressed, split anywhere', async () => {
    for (let cut = 1; cut < taskRows.length; cut++) {
      const { jobs } = await read(
        [jobRows.slice(0, 3), jobRows.slice(3)],
        [taskRows.slice(0, cut), taskRows.slice(cut)],
        { gzip: cut % 2 === 0 },
      );
      expect(durations(jobs)).toEqual(expected);
    }
  });

  it('may be single files among others', async () => {
    const folder = await writeTables(
      parent,
      { job_events: [jobRows], task_events: [taskRows] },
      { gzip: true },
    );
    for (const table of ['job_events', 'task_events']) {
      await rename(join(folder, table, 'part-00000-of-00500.csv.gz'), join(folder, `${table}.csv.gz`));
      await rm(join(folder, table), { recursive: true });
    }
    await mkdir(join(folder, 'machine_events'));
    await writeFile(join(folder, 'SHA256SUM'), 'nothing\n');
    expect(durations(await collect(flattened(readGoogle2011(folder))))).toEqual(expected);
  });

  it('may have blank lines and carriage returns', async () => {
    const { jobs } = await read(
      [jobRows.map((row) => `${row}\r`)],
      [taskRows.flatMap((row) => [`${row}\r`, '', ' \r'])],
    );
    expect(durations(jobs)).toEqual(expected);
    expect(jobs[0]!.logicalName).toBe('logical1');
  });

  it('yield ended jobs before the rest is read', async () => {
    // The trace has 2,000 jobs, one per minute, and an invalid row at the end.
    const job: string[] = [];
    const task: string[] = [];
    for (let i = 1; i <= 2_000; i++) {
      job.push(jobRow(60 * i, i, 'submit'), jobRow(60 * i + 30, i, 'finish'));
      task.push(taskRow(60 * i, i, 0, 'submit'), taskRow(60 * i + 1, i, 0, 'schedule'));
      task.push(taskRow(60 * i + 30, i, 0, 'finish'));
    }
    const folder = await writeTables(parent, { job_events: [job], task_events: [task.concat('wrong')] });
    const names: string[] = [];
    const reading = (async () => {
      for await (const { name } of flattened(readGoogle2011(folder))) names.push(name!);
    })();
    await expect(reading).rejects.toThrow('task_events/part-00000-of-00500.csv:6001: the line has 1 column');
    expect(names.length).toBeGreaterThan(500);
  });
});

/** One attempt: it waits, runs, and ends with any event. */
const attempt = fc.record({
  waitMs: fc.integer({ min: 0, max: 100_000 }),
  runMs: fc.integer({ min: 0, max: 1_000_000 }),
  end: fc.constantFrom('evict', 'fail', 'finish', 'kill', 'lost'),
});
const traced = fc.record({
  submitMs: fc.integer({ min: 1, max: 10_000_000 }),
  tasks: fc.array(fc.array(attempt, { minLength: 1, maxLength: 3 }), { minLength: 1, maxLength: 4 }),
  endsLateMs: fc.integer({ min: -900, max: 900 }),
});

it('finds the last finished attempt of every task, even if jobs overlap', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(traced, { minLength: 1, maxLength: 8 }), async (stories) => {
      const job: string[] = [jobRow(1, 1_000, 'submit'), jobRow(2, 1_000, 'finish')];
      const task: string[] = [taskRow(1, 1_000, 0, 'submit'), taskRow(1, 1_000, 0, 'schedule')];
      task.push(taskRow(2, 1_000, 0, 'finish'));
      const expected: Record<string, number[]> = { name1000: [1] };
      for (const [id, { submitMs, tasks, endsLateMs }] of stories.entries()) {
        let endMs = submitMs;
        const finished = tasks.map((attempts, index) => {
          let atMs = submitMs;
          let lastMs: number | undefined;
          for (const { waitMs, runMs, end } of attempts) {
            task.push(taskRow(atMs / 1000, id, index, 'submit'));
            atMs += waitMs;
            task.push(taskRow(atMs / 1000, id, index, 'schedule'));
            atMs += runMs;
            task.push(taskRow(atMs / 1000, id, index, end));
            if (end === 'finish') lastMs = runMs;
          }
          endMs = Math.max(endMs, atMs);
          return lastMs;
        });
        job.push(jobRow(submitMs / 1000, id, 'submit'));
        job.push(jobRow(Math.max(submitMs, endMs + endsLateMs) / 1000, id, 'finish'));
        const known = finished.filter((ms) => ms !== undefined).map((ms) => ms / 1000);
        if (known.length > 0) expected[`name${id}`] = known;
      }
      const { jobs } = await read([inOrder(job)], [inOrder(task)]);
      expect(durations(jobs)).toEqual(expected);
    }),
    { numRuns: 60 },
  );
});

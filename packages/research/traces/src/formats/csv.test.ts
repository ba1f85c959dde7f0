import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { collect, type TraceJob } from '../job.js';
import { formatTally } from '../tally.js';
import { openWorkload } from '../workload.js';
import { detectFormat } from './index.js';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'goshawk-tables-'));
});
afterAll(() => rm(folder, { recursive: true }));

async function read(...lines: string[]) {
  const file = join(folder, 'trace');
  await writeFile(file, lines.map((line) => `${line}\n`).join(''));
  const format = await detectFormat(file);
  const { jobs, tallied } = await openWorkload(file);
  return { format: format.name, jobs: (await collect(jobs())).map(plain), tally: formatTally(tallied) };
}

function plain({ durationsSeconds, ...rest }: TraceJob) {
  return { ...rest, durationsSeconds: Array.from(durationsSeconds) };
}

describe('a CSV file with named columns', () => {
  it('has names that a cluster accepts', async () => {
    const { jobs, tally } = await read(
      'submit,duration,name,user',
      '0,1,etl,ann',
      '1,1,"\u00a0etl\u0007 2","\u200b"',
    );
    expect(jobs.map(({ name, user }) => ({ name, user }))).toEqual([
      { name: 'etl', user: 'ann' },
      { name: 'etl 2', user: undefined },
    ]);
    expect(tally.join()).toContain('1  jobs with names that have control characters');
  });

  it('has one job per row, in any order of columns, with and without units in their names', async () => {
    const expected = [
      { submitSeconds: 0, durationsSeconds: [30, 30], meanSeconds: 30, user: 'ann' },
      { submitSeconds: 1.5, durationsSeconds: [0.5], meanSeconds: 0.5 },
    ];
    expect(await read('submit,tasks,duration,user', '0,2,30,ann', '', '1.5,1,0.5,')).toMatchObject({
      format: 'csv',
      jobs: expected,
    });
    const other = await read('user,duration_s,submit_s,tasks', 'ann,30,0,2', ',0.5,1.5,1');
    expect(other.jobs).toEqual(expected);
  });

  it('has one task per job by default', async () => {
    expect((await read('submit,duration,estimate', '2,10,12')).jobs).toEqual([
      { submitSeconds: 2, durationsSeconds: [10], meanSeconds: 10, estimateSeconds: 12 },
    ]);
  });

  it('is read with semicolons, tabs, quotes, and names in any case', async () => {
    const expected = [{ submitSeconds: 0, durationsSeconds: [10, 10], meanSeconds: 10, name: 'a, b' }];
    expect((await read('submit,name,duration,tasks', '0,"a, b",10,2')).jobs).toEqual(expected);
    expect((await read('"Submit";"Name";"Duration";"Tasks"', '0;"a, b";10;2')).jobs).toEqual(expected);
    expect((await read('SUBMIT\tname\tRunTime\tn_tasks', '0\ta, b\t10\t2')).jobs).toEqual(expected);
  });

  it('names the columns that are ignored', async () => {
    const { tally } = await read('submit,duration,queue,nodes', '0,1,batch,n1');
    expect(tally).toEqual(['2  ignored columns: queue, nodes']);
  });

  it('reads amounts with their units, and shares of a GPU', async () => {
    const { jobs } = await read(
      'creation_time,scheduled_time,deletion_time,cpu_milli,memory_mib,num_gpu,gpu_milli,pod_phase',
      '0,5,15,2500,1024,1,460,Succeeded',
    );
    expect(jobs).toMatchObject([
      { durationsSeconds: [10], waitSeconds: 5, demand: { cpu: 2.5, memory: 2 ** 30, gpu: 0.46 } },
    ]);
  });

  it('counts pods that ran until their deletion, whose phase is still Running', async () => {
    const header = 'creation_time,scheduled_time,deletion_time,pod_phase';
    const { jobs, tally } = await read(header, '0,5,15,Running', '1,,9,Pending', '2,3,,Running');
    expect(jobs).toMatchObject([{ submitSeconds: 0, durationsSeconds: [10] }]);
    expect(tally).toEqual(['2  jobs that had not ended: omitted']);
    const others = await read('submit,start,end,state', '0,5,15,Running', '0,5,15,Done');
    expect(others.jobs.length).toBe(1);
  });

  it('computes times from the end if only that is given', async () => {
    const { jobs } = await read('app,func,end_timestamp,duration', 'a,f,12.5,2.5');
    expect(jobs).toEqual([{ submitSeconds: 10, durationsSeconds: [2.5], meanSeconds: 2.5 }]);
  });

  it.each([
    [
      ['submit,duration,estimates', '0,1,2'],
      /trace:1: unknown column 'estimates'; did you mean 'estimate'\?/,
    ],
    [['job,submit', '1,2'], /trace:1: no column contains run times; the first line names the columns: /],
    [
      ['submit,duration', '0,Infinity'],
      /trace:2: column 2, the duration, is 'Infinity'; it must be a number of seconds/,
    ],
    [['submit,duration', '0,1e300'], /trace:2: column 2, the duration, is '1e300'/],
    [
      ['submit,duration,tasks', '0,1,2000000000'],
      /trace:2: column 3, the tasks, is '2000000000'; it must be a whole number from 1 to 1000000/,
    ],
    [['submit,duration,tasks', '0,1,0x10'], /trace:2: column 3, the tasks, is '0x10'/],
    [['submit,duration,tasks', '0,1,2.5'], /trace:2: column 3, the tasks, is '2.5'/],
    [['submit,start,end', '0,10,5'], /trace:2: the job ends 5 s before it starts/],
    [
      ['submit,duration', '2026-01-01,1', 'x,1'],
      /trace:3: column 1, the submit, is 'x'; it must be a date and a time/,
    ],
    [
      ['submit,duration', '2026-02-28,1', '2026-02-30 10:00,1'],
      /trace:3: column 1, the submit, is '2026-02-30 10:00'; it must be a date and a time/,
    ],
    [['submit,name,duration', '0,"a,10'], /trace:\d: a double quote is not closed; /],
    [['submit,submit,duration', '0,1,2'], /trace:1: two columns have the same name, 'submit'/],
  ])('%j is refused, too', async (lines, message) => {
    await expect(read(...lines)).rejects.toThrow(message);
  });

  it.each([
    [['submit,task,duration', '0,2,5'], /trace:1: unknown column 'task'; did you mean 'tasks'\?/],
    [['submit,tasks,duration', '0,2'], /trace:2: the line has 2 columns instead of 3/],
    [['submit,tasks,duration', '0,0,5'], /trace:2: column 2, the tasks, is '0'/],
    [['submit,tasks,duration', '0,1,'], /trace:2: the duration is empty/],
    [['submit,tasks,duration', 'x,1,5'], /trace:2: column 1, the submit, is 'x'/],
    [['submit,tasks,duration'], /the trace is empty/],
  ])('%j is refused', async (lines, message) => {
    await expect(read(...lines)).rejects.toThrow(message);
  });
});

const SWF_JOB = '1 10 5 60 4 -1 -1 4 120 -1 1 7 3 2 1 -1 -1 -1';

describe('the Standard Workload Format', () => {
  it('has one task per processor, with the requested time as the estimate', async () => {
    const { format, jobs, tally } = await read(
      '; Version: 2.2',
      SWF_JOB,
      '2 20 0 -1 -1 -1 -1 8 60 -1 5 7 3 2 1 -1 -1 -1',
    );
    expect(format).toBe('swf');
    expect(jobs).toEqual([
      {
        submitSeconds: 10,
        durationsSeconds: [60, 60, 60, 60],
        meanSeconds: 60,
        estimateSeconds: 120,
        user: '7',
        logicalName: '2',
        waitSeconds: 5,
      },
    ]);
    expect(tally).toEqual([
      '1  jobs with several processors: read as tasks that may start one by one, although the job started at once',
      '1  jobs without a run time or processors, which never ran: omitted',
      '2  ignored columns: group, queue',
    ]);
  });

  it('reads a checkpointed job once, from the line of its total', async () => {
    const { jobs, tally } = await read(
      '; Version: 2.2',
      '1 0 -1 100 2 -1 -1 2 20 -1 1 1 1 -1 -1 -1 -1 -1',
      '1 0 -1 60 2 -1 -1 2 20 -1 2 1 1 -1 -1 -1 -1 -1',
      '1 0 -1 40 2 -1 -1 2 20 -1 3 1 1 -1 -1 -1 -1 -1',
    );
    expect(jobs.map(({ durationsSeconds }) => durationsSeconds)).toEqual([[100, 100]]);
    expect(tally.join()).toContain('2  partial executions');
  });

  it('says that the work of partial executions is missing if no line has their total', async () => {
    const line = (number: number, status: number) =>
      `${number} 0 -1 30 2 -1 -1 2 20 -1 ${status} 1 1 -1 -1 -1 -1 -1`;
    const large = 2 ** 40;
    const { jobs, tally } = await read(
      ...[line(2, 2), line(2, 3), line(3, 4), line(3, 1), line(70_000, 2), line(large, 2), line(large, 0)],
      ...[line(-1, 2), line(1, 1)],
    );
    expect(jobs).toHaveLength(3);
    expect(tally.join()).toMatch(/4 {2}partial executions \(status 2 to 4\) of jobs without a summary line/);
    expect(tally.join()).toMatch(/2 {2}partial executions \(status 2 to 4\), included in the summary line/);
  });

  it.each([
    '2 1 -1 0 0 -1 -1 64 20 -1 5 1 1 -1 -1 -1 -1 -1',
    '2 1 -1 0 -1 -1 -1 64 20 -1 5 1 1 -1 -1 -1 -1 -1',
    '2 1 -1 -1 -1 -1 -1 64 20 -1 5 1 1 -1 -1 -1 -1 -1',
    '2 1 -1 0 4 -1 -1 64 20 -1 5 1 1 -1 -1 -1 -1 -1',
  ])('leaves out a job that never ran: %s', async (line) => {
    expect((await read(SWF_JOB, line)).jobs.length).toBe(1);
  });

  it('is recognised without comments, with more columns, and without unknown values', async () => {
    expect((await read(SWF_JOB)).format).toBe('swf');
    expect((await read('1 0 0 10 2 10 100 2 20 100 1 1 1 1 1 1 0 0')).format).toBe('swf');
    expect((await read('1 1356996147 0 12 1 -1 -1 1 20 -1 1 1 1 1 1 1 -1 -1 7 8 9')).tally.at(-1)).toMatch(
      /ignored columns: group, queue, partition, those after field 18/,
    );
    // A line of `.tr` with 15 tasks has as many fields.
    expect((await read(`0 15 1 ${'1 '.repeat(15)}`)).format).toBe('tr');
  });

  it.each([
    [['; Version: 2.2', '1 2 3'], /trace:2: the line has 3 fields instead of 18/],
    [[SWF_JOB, SWF_JOB.replace('60', 'x')], /trace:2: field 4, the run time, is 'x'/],
    [[SWF_JOB, SWF_JOB.replace('60', '1e300')], /trace:2: field 4, the run time, is '1e300'/],
    [
      [SWF_JOB, SWF_JOB.replace(' 4 -1', ' 2000000000 -1')],
      /trace:2: field 5, the processors, is '2000000000'/,
    ],
    [[SWF_JOB, SWF_JOB.replace(' 4 -1', ' 0x10 -1')], /trace:2: field 5, the processors, is '0x10'/],
    [[SWF_JOB, SWF_JOB.replace(' 4 -1', ' 2.5 -1')], /trace:2: field 5, the processors, is '2.5'/],
    [['; nothing'], /the trace is empty/],
  ])('%j is refused', async (lines, message) => {
    await expect(read(...lines)).rejects.toThrow(message);
  });
});

describe('Alibaba’s batch_task of 2018', () => {
  it('has one stage per row with the predecessors in its name, in any order of rows', async () => {
    const { format, jobs, tally } = await read(
      'R2_1,1,j_1,1,Terminated,110,130,100,0.5',
      'task_x,2,j_2,1,Terminated,105,106,100,0.5',
      'M1,2,j_1,1,Terminated,100,110,100,0.5',
      'J4_2_3,1,j_1,1,Terminated,130,131,100,0.5',
      'M1,1,j_3,1,Failed,100,110,100,0.5',
    );
    expect(format).toBe('alibaba2018');
    const demand = { cpu: 1, memory: 0.5 };
    expect(jobs).toEqual([
      {
        name: 'j_1',
        submitSeconds: 100,
        durationsSeconds: [10, 10, 20, 1],
        meanSeconds: 10.25,
        stages: [
          { name: 'M1#0', after: [], tasks: 2, demand },
          { name: 'R2_1#1', after: [0], tasks: 1, demand },
          { name: 'J4_2_3#2', after: [1], tasks: 1, demand },
        ],
      },
      { name: 'j_2', submitSeconds: 105, durationsSeconds: [1, 1], meanSeconds: 1, demand },
    ]);
    expect(tally).toEqual([
      '1  ignored columns: task_type',
      '1  stages that did not complete, or that lack times: omitted',
      '1  dependencies on missing stages: ignored',
    ]);
  });

  it.each([
    [['M1,2,j_1,1,Terminated,100,110,100,0.5', 'M1,2'], /trace:2: the line has 2 columns instead of 9/],
    [['M1,0,j_1,1,Terminated,100,110,100,0.5'], /trace:1: column 2, the number of instances, is '0'/],
    [['M1,1,,1,Terminated,100,110,100,0.5'], /trace:1: column 3, the name of the job, is empty/],
  ])('%j is refused', async (lines, message) => {
    await expect(read(...lines)).rejects.toThrow(message);
  });
});

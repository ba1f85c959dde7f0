import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { collect } from '../job.js';
import { openWorkload } from '../workload.js';

const SAMPLES = join(import.meta.dirname, '../../samples');

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'goshawk-misread-'));
});
afterAll(() => rm(folder, { recursive: true }));

async function open(text: string | Buffer) {
  const file = join(folder, 'trace');
  await writeFile(file, text);
  return openWorkload(file);
}

/** A sample with one change. */
async function changed(name: string, from: string | RegExp, to: string): Promise<string> {
  const text = await readFile(join(SAMPLES, name), 'utf8');
  const other = text.replace(from, to);
  expect(other).not.toBe(text);
  return other;
}

type Change = readonly [what: string, sample: string, from: string | RegExp, to: string, expected: RegExp];

const REFUSED: readonly Change[] = [
  [
    'a day that the month does not have',
    'slurm.sacct',
    '2026-11-02T08:00:00',
    '2026-02-30T08:00:00',
    /:2: column 6, the submit, is '2026-02-30T08:00:00'; /,
  ],
  [
    '61 minutes and 99 seconds',
    'slurm.sacct',
    /^(.*)ElapsedRaw([\s\S]*?)\|600\|/,
    '$1Elapsed$2|00:61:99|',
    /:2: column 9, the elapsed, is '00:61:99'; it must be \[DD-\]HH:MM:SS/,
  ],
  [
    'seconds among dates',
    'slurm.sacct',
    '2026-11-02T08:00:30|',
    '1793606430|',
    /:5: column 6, the submit, is '1793606430'; it must be a date/,
  ],
  [
    'a time limit that is not a number',
    'slurm.sacct',
    '|600|60|2|',
    '|600|1h|2|',
    /:2: column 10, the timelimitraw, is '1h'; it must be a number of minutes/,
  ],
  [
    'a demand that is not an amount',
    'slurm.sacct',
    'gres/gpu=2',
    'gres/gpu=all',
    /:5: column 14, the alloctres, is 'billing=8,cpu=8,gres\/gpu=all,mem=32G,nod…'; it must be a list of amounts/,
  ],
  [
    'a name for the number of a job, as with swapped columns',
    'slurm.sacct',
    '\n101|solve',
    '\nsolve|101',
    /:2: column 1, the jobid, is 'solve'; it must begin with the number of a job/,
  ],
  [
    'a tag of thousands of attributes',
    'diamond.dax',
    'runtime=',
    `${'k="v" '.repeat(1_000_000)}runtime=`,
    /:\d+: not XML: '<job /,
  ],
  [
    'a column twice',
    'slurm.sacct',
    'Start|End',
    'End|End',
    /:1: two columns have the same name, 'End'; rename/,
  ],
  ['a column twice', 'instance_events.csv', 'priority', 'TIME', /:1: two columns have the same name, 'TIME'/],
  [
    'a column twice',
    'alibaba/batch_task_2018.csv',
    'plan_mem',
    'plan_cpu',
    /:1: two columns have the same name, 'plan_cpu'/,
  ],
  [
    'a header in the middle',
    'slurm.sacct',
    /^(.*\n)(.*\n)/,
    '$1$2$1',
    /:3: the line repeats the header; remove it/,
  ],
  ['a header in the middle', 'jobs.csv', /^(.*\n)(.*\n)/, '$1$2$1', /:3: the line repeats the header/],
  [
    'a header in the middle',
    'alibaba/batch_task_2018.csv',
    /^(.*\n)(.*\n)/,
    '$1$2$1',
    /:3: the line repeats the header/,
  ],
  [
    'a delimiter outside of the name',
    'slurm.sacct',
    '4G|\n105',
    '4G|x|\n105',
    /:8: the line has 15 columns instead of 14/,
  ],
  [
    'no names of stages, which contain their order',
    'alibaba/batch_task_2018.csv',
    'task_name',
    'name',
    /:1: missing column task_name; the columns of the trace are/,
  ],
  [
    'no name of a job',
    'alibaba/batch_task_2018.csv',
    'j_2',
    'null',
    /:4: column 3, the name of the job, is 'null'/,
  ],
  [
    'a job that is not a number',
    'alibaba/batch_task_2017.csv',
    '10,110,1,',
    '10,110,-,',
    /:1: column 3, the name of the job, is '-'; each row needs a whole number/,
  ],
  [
    'a NUL byte, which some readers take for a blank',
    'small.tr',
    '1.5 1',
    '1.5\0 1',
    /:2: the line contains a NUL byte, so the file is damaged or not text; copy/,
  ],
  ['NUL bytes after a document', 'batsim.json', /$/, '\0\0', /:15: the line contains a NUL byte/],
  [
    'hexadecimal text for a number',
    'batsim.json',
    '"res": 4',
    '"res": "0x10"',
    /:4: jobs\[0\].res is '"0x10"'/,
  ],
  [
    'a negative wall time',
    'batsim.json',
    '"walltime": 100',
    '"walltime": -5',
    /:4: jobs\[0\].walltime is '-5'/,
  ],
  [
    'a machine without its GPUs',
    'philly.json',
    '"ip": "m2", "gpus"',
    '"ip": "m2", "gpu"',
    /:17: \[0\].attempts\[1\].detail\[1\].gpus is missing/,
  ],
  [
    'an unknown tag in place of a parent',
    'diamond.dax',
    '<parent ref="ID00001"/>',
    '<depends ref="ID00001"/>',
    /:11: a child contains <depends>; it may contain only <parent/,
  ],
  [
    'text after the document',
    'diamond.dax',
    /$/,
    '(4 rows)\n',
    /:21: unexpected text '\(4 rows\)'; remove it/,
  ],
  [
    'a control character in a name',
    'diamond.dax',
    '<child ref="ID00003">',
    '<child ref="ID\u001b[2J">',
    /:11: unknown job 'ID\ufffd\[2J'; /,
  ],
];

/** Output of other options of `sacct`, and of other tools. */
const OTHER_OUTPUT: readonly (readonly [what: string, text: string, error: RegExp])[] = [
  [
    'a table without its header',
    '101_7|solve|ann|COMPLETED|2026-11-02T08:00:00|60\n',
    /:1: this is sacct’s table without its header; export it without -n: sacct -P/,
  ],
  [
    'the table for people',
    'JobID           JobName  Partition\n------------ ---------- ----------\n',
    /:1: this is sacct’s human-readable table, which truncates long names; export it with -P: sacct -P/,
  ],
  [
    'sacct --json',
    '{\n "jobs": [\n  {"account": "a", "allocation_nodes": 1}\n ]\n}\n',
    /:1: this is the output of sacct --json; export it with -P in place of --json: sacct -P/,
  ],
  [
    'a trace of Rumen',
    '{\n "jobID": "job_1", "mapTasks": [{"attempts": []}]\n}\n',
    /:1: this is a trace of Rumen; convert it with rumen2sls.sh of Hadoop$/,
  ],
  ['text in another script', '作业☃名称\n', /:1: not a known trace format: it begins with '作业☃名称'; /],
];

const COUNTED: readonly Change[] = [
  [
    'a last attempt without a start',
    'philly.json',
    '"start_time": "2017-10-07 00:02:00"',
    '"start_time": null',
    /2 attempts-without-times/,
  ],
  [
    'no number of nodes',
    'slurm.sacct',
    '|60|2|64|128G|billing=64,cpu=64,mem=128G,node=2',
    '|60||64|128G|',
    /1 nodes-missing/,
  ],
  [
    'a start before the submission',
    'slurm.sacct',
    '08:00:00|2026-11-02T08:00:10',
    '08:00:10|2026-11-02T08:00:00',
    /1 starts-before-submission/,
  ],
  [
    'an end before the start',
    'slurm.sacct',
    '08:00:10|2026-11-02T08:10:10',
    '08:10:10|2026-11-02T08:00:10',
    /1 ends-before-start/,
  ],
  [
    'a column without a name',
    'slurm.sacct',
    '|Start|',
    '||',
    /2 columns-not-read ignored columns: Partition, column 7/,
  ],
  ['an unknown status', 'parallel.swf', ' 1024 1 7 1 3', ' 1024 9 7 1 3', /1 states-unknown/],
  [
    'a negative number that does not mean unknown',
    'parallel.swf',
    '4 200 1024',
    '4 -200 1024',
    /1 values-negative/,
  ],
  ['an empty submission', 'jobs.csv', 'ann;2026-11-02T08:00:00Z', 'ann;', /1 submissions-missing/],
  ['an empty number of tasks', 'jobs.csv', ';2;4;16;1;', ';;4;16;1;', /1 tasks-missing/],
  ['an empty demand', 'jobs.csv', ';2;4;16;1;', ';2;;16;;', /1 cpu-missing.*1 gpu-missing/],
  ['an empty demand', 'alibaba/batch_task_2018.csv', '120,140,100,0.5', '120,140,,0.5', /1 plan_cpu-missing/],
  ['a mean that is not that of the durations', 'small.tr', '1.5 1 30 30', '1.5 1 300 30', /1 means-differ/],
  ['a missing submission', 'jobs.sls', '"job.start.ms" : 1500, ', '', /1 submissions-missing/],
  ['an unknown type, which has no order', 'jobs.sls', '"reduce"', '"reducer"', /1 types-unknown/],
  [
    'an unknown field',
    'jobs.sls',
    '"container.memory": 2048',
    '"container.mem": 2048',
    /fields-not-read ignored fields: container.host, container.priority, container.mem/,
  ],
  ['an unknown field', 'batsim.json', '"walltime"', '"wall"', /1 fields-not-read ignored fields: wall/],
  [
    'an unknown field',
    'workflow.json',
    '"coreCount": 2',
    '"coresCount": 2',
    /1 fields-not-read ignored fields: coresCount/,
  ],
];

describe('a reader', () => {
  it.each(REFUSED)('rejects %s (%s)', async (_, sample, from, to, error) => {
    await expect(changed(sample, from, to).then(open)).rejects.toThrow(error);
  });

  it.each(OTHER_OUTPUT)('names %s, and what to do', async (_, text, error) => {
    await expect(open(text)).rejects.toThrow(error);
  });

  it.each(COUNTED)('counts %s (%s)', async (_, sample, from, to, tally) => {
    const { tallied } = await open(await changed(sample, from, to));
    const lines = tallied.map(({ code, count, what }) => `${count} ${code} ${what}`).sort();
    expect(lines.join('\n').replaceAll('\n', ' ')).toMatch(tally);
  });

  it.each(['slurm.sacct', 'jobs.csv', 'alibaba/batch_task_2018.csv', 'instance_events.csv'])(
    'takes line feeds with and without carriage returns in one file (%s)',
    async (sample) => {
      const text = await readFile(join(SAMPLES, sample), 'utf8');
      const jobs = async (content: string) => collect((await open(content)).jobs());
      expect(await jobs(text.replace('\n', '\r\n').replace(/\n(.*\n)$/, '\r\n$1'))).toEqual(await jobs(text));
    },
  );

  it('rejects lines that end with a carriage return alone', async () => {
    await expect(open('submit,duration\r0,10\r')).rejects.toThrow(
      /:1: lines end with a carriage return alone, as on an old Mac; convert it first: tr /,
    );
  });

  it('takes the number of nodes from AllocTRES if there is no column for it', async () => {
    const { jobs } = await open(
      'JobID|State|Submit|ElapsedRaw|AllocTRES\n1|COMPLETED|2026-11-02T08:00:00|60|cpu=8,mem=4G,node=2\n',
    );
    const [job] = await collect(jobs());
    expect(job).toMatchObject({
      durationsSeconds: Float64Array.of(60, 60),
      demand: { cpu: 4, memory: 2 ** 31 },
    });
  });

  it.each(['', 'submit,duration\n', '; SWF\n', '{"subtime":\n'])(
    'rejects many blanks in a row after %j',
    async (text) => {
      const blanks = Buffer.alloc(20 * 1024 * 1024, '\n');
      await expect(open(Buffer.concat([Buffer.from(text), blanks]))).rejects.toThrow(
        /:\d+: the file has more than 16 MiB of consecutive blanks; check that this is a trace$/,
      );
    },
  );

  it('shows a file name with control characters in one line', async () => {
    const file = join(folder, 'two\nlines\u001b[2J');
    await writeFile(file, 'submit,duration\n0,x\n');
    await expect(openWorkload(file)).rejects.toThrow(/two\ufffdlines\ufffd\[2J:2: column 2, /);
  });

  it('rejects more invocations of Azure Functions than can be read', async () => {
    const own = await mkdtemp(join(folder, 'azure-'));
    const id = 'HashOwner,HashApp,HashFunction';
    const minutes = Array.from({ length: 11 }, (_, i) => i + 1);
    const rows = [`${id},Trigger,${minutes.join()}`, `o,a,f,http,${minutes.map(() => 10_000_000).join()}`];
    await writeFile(join(own, 'invocations.csv'), `${rows.join('\n')}\n`);
    await writeFile(join(own, 'durations.csv'), `${id},Average\no,a,f,500\n`);
    await expect(openWorkload(own)).rejects.toThrow(
      /invocations\.csv:2: the tables have more than 100000000 invocations; use fewer functions/,
    );
  });

  it('repairs delimiters in commands and names of sacct, and reads types of GPUs', async () => {
    const tres = `billing=8,cpu=8,${'gres/license=1,'.repeat(30)}gres/gpu:a100=2,gres/gpu:v100=1,node=2`;
    const { jobs } = await open(
      [
        'JobID|JobName|State|Submit|SubmitLine|ElapsedRaw|ReqNodes|NNodes|AllocTRES',
        `1|a|COMPLETED|2026-11-02T08:00:00|sbatch --wrap=env | sort | uniq|60|0.00K|2|${tres}`,
        `2|a|b|COMPLETED|2026-11-02T08:00:00|sbatch x|60|0|1|cpu=1,gres/gpu:a100=2,gres/gpu=4`,
      ].join('\n'),
    );
    expect(await collect(jobs())).toMatchObject([
      { name: 'a', demand: { cpu: 4, gpu: 1.5 }, durationsSeconds: Float64Array.of(60, 60) },
      { name: 'a|b', demand: { cpu: 1, gpu: 4 } },
    ]);
  });

  it('reads all fields of the Scheduler Load Simulator', async () => {
    const tasks = (order: string) => `"job.tasks": [
      {"container.start.ms": "0", "container.end.ms": 7000, "container.duration.ms": 5000, "count": 2},
      {"duration.ms": 1000, "container.type": "reduce", "container.memory-mb": 2048, "container.yarn.io/gpu": 1}
    ], ${order}`;
    const { jobs, tallied } = await open(`{"num.nodes": 3, "num.racks": 1}
      {${tasks('"am.type": "mapreduce"')}, "job.start.ms": 0, "job.id": "a", "job.count": 2}
      {${tasks('"yarn.sls.am.type": "dag"')}, "job.start.ms": 1000, "job.id": "b"}`);
    const read = await collect(jobs());
    expect(read.map(({ name, submitSeconds }) => [name, submitSeconds])).toEqual([
      [undefined, 0],
      [undefined, 0],
      ['b', 1],
    ]);
    for (const { durationsSeconds, stages } of read) {
      expect([...durationsSeconds]).toEqual([5, 5, 1]);
      expect(stages![1]!.demand).toEqual({ memory: 2 ** 31, gpu: 1 });
    }
    expect(read.map(({ stages }) => stages![1]!.after)).toEqual([[0], [0], []]);
    expect(tallied).toEqual([]);
    await expect(
      open('{"job.count": 1000, "job.tasks": [{"duration.ms": 1, "count": 2000}]}'),
    ).rejects.toThrow(/:1: the job has more than 1000000 tasks; split it/);
  });

  it('reads a sample of Google 2019 as a data frame writes it', async () => {
    const rows = [
      ',time,instance_events_type,collection_id,instance_index,resource_request,user,collection_name,collection_logical_name',
      `0,700000000,3,394837411,0,"{'cpus': 0.25, 'memory': 0.125}",ann,solve-7,solve`,
      `1,760000000,6,394837411,0,"{'cpus': 0.25, 'memory': None}",ann,solve-7,solve`,
    ];
    const { jobs, tallied } = await open(rows.join('\n'));
    expect(await collect(jobs())).toMatchObject([
      {
        name: 'solve-7',
        user: 'ann',
        logicalName: 'solve',
        durationsSeconds: Float64Array.of(60),
        machineShare: { cpu: 0.25, memory: 0.125 },
      },
    ]);
    expect(tallied.map(({ what }) => what)).toEqual(['ignored columns: column 1']);
    await expect(open(rows.join('\n').replaceAll('394837411', '3.94837E+08'))).rejects.toThrow(
      /:2: column 4, the collection_id, is '3.94837E\+08'; it must be a whole number; a spreadsheet has rounded it, /,
    );
  });

  it('reads DAX jobs whose arguments contain text', async () => {
    const { jobs } = await open(
      await changed(
        'diamond.dax',
        '<child ref',
        '<job id="x" runtime="5"><argument>-a <file name="f"/> -b</argument></job><child ref',
      ),
    );
    expect((await collect(jobs()))[0]!.durationsSeconds).toHaveLength(5);
  });

  it.each(['\t', ';'])('takes %j of sacct --delimiter, and counts no step as a job', async (delimiter) => {
    const rows = ['JobID|State|Submit|ElapsedRaw|NNodes', '1|COMPLETED|5|60|1', '1.batch|COMPLETED|5|60|1'];
    const { jobCount, tallied } = await open(`${rows.join('\n').replaceAll('|', delimiter)}\n`);
    expect([jobCount, tallied.map(({ code }) => code)]).toEqual([1, ['job-steps']]);
  });

  it('counts minutes without a column, and other columns, of Azure Functions', async () => {
    const own = await mkdtemp(join(folder, 'azure-'));
    const id = 'HashOwner,HashApp,HashFunction';
    const day = 'per_function_md.anon.d01.csv';
    await writeFile(join(own, `invocations_${day}`), `${id},Trigger,1,2,three\no,a,f,http,1,2,4\n`);
    await writeFile(join(own, 'function_durations_percentiles.anon.d01.csv'), `${id},Average\no,a,f,500\n`);
    const { tallied, jobCount } = await openWorkload(own);
    expect(jobCount).toBe(3);
    expect(Object.fromEntries(tallied.map(({ code, count }) => [code, count]))).toMatchObject({
      'minutes-missing': 1_438,
      'columns-not-read': 1,
    });
  });

  it('rejects a journal whose demand is not an amount', async () => {
    const stages = [{ name: 'a', after: [], tasks: { count: 1 }, demand: { cpu: 'many' } }];
    const record = { id: 'abcde-1', kind: 'accepted', job: 1, at: 5, spec: { name: 'j', stages } };
    await expect(open(`${JSON.stringify(record)}\n`)).rejects.toThrow(
      /:1: the record has a wrong spec.stages\[0\]/,
    );
  });
});

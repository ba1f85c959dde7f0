import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { WorkloadError } from '../../errors.js';
import { arbitraryJob } from '../../job.fixture.js';
import { collect, type TraceJob } from '../../job.js';
import { flattened } from '../../packed-jobs.js';
import { openWorkload } from '../../workload.js';
import { jsonLines, readJsonl } from './index.js';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'goshawk-jsonl-'));
});
afterAll(() => rm(folder, { recursive: true }));

const HEADER = '{"schema":"goshawk.trace/1"}';

async function fileOf(text: string): Promise<string> {
  const file = join(folder, 'trace.jsonl');
  await writeFile(file, text);
  return file;
}

async function read(...lines: string[]): Promise<TraceJob[]> {
  return collect(flattened(readJsonl(await fileOf(`${[HEADER, ...lines].join('\n')}\n`))));
}

describe('readJsonl', () => {
  it('reads a job with few fields', async () => {
    expect(await read('{"submitSeconds":1.5,"durationsSeconds":[2,4]}')).toEqual([
      { submitSeconds: 1.5, durationsSeconds: Float64Array.of(2, 4), meanSeconds: 3 },
    ]);
  });

  it('reads all fields of a job', async () => {
    const [job] = await read(
      JSON.stringify({
        submitSeconds: 0,
        meanSeconds: 7,
        name: 'sort',
        user: 'ann',
        logicalName: 'nightly sort',
        schedulingClass: 2,
        estimateSeconds: 6,
        deadlineSeconds: 3600,
        weight: 2.5,
        priority: 'high',
        retries: 3,
        retryBackoffSeconds: 2,
        timeoutSeconds: 60,
        timeLimitSeconds: 600,
        maxRunning: 10,
        demand: { cpu: 1, gpu: 2 },
        machineShare: { cpu: 0.5, memory: 0.25, disk: 0 },
        stages: [
          { name: 'map', durationsSeconds: [1, 2, 3] },
          { name: 'load', durationsSeconds: [4] },
          { name: 'reduce', after: ['load', 'map'], durationsSeconds: [5, 6], demand: { memory: 1024 } },
        ],
      }),
    );
    expect(job).toMatchObject({ name: 'sort', meanSeconds: 7, retries: 3, demand: { cpu: 1, gpu: 2 } });
    expect([...job!.durationsSeconds]).toEqual([1, 2, 3, 4, 5, 6]);
    expect(job!.stages).toEqual([
      { name: 'map', after: [], tasks: 3 },
      { name: 'load', after: [], tasks: 1 },
      { name: 'reduce', after: [1, 0], tasks: 2, demand: { memory: 1024 } },
    ]);
  });

  it('accepts blank lines and concatenated files', async () => {
    const line = '{"submitSeconds":1,"durationsSeconds":[2]}';
    expect(await read(line, '', HEADER, ` ${line}\r`)).toHaveLength(2);
  });

  it.each([
    ['{"submitSeconds":1,"durationsSeconds":[2]', /not JSON: '\{"submitSeconds":1,/],
    ['[1]', /the job is '\[…\]'; it must be an object/],
    ['null', /the job is 'null'/],
    ['{"durationsSeconds":[2]}', /submitSeconds is missing; it must be a number of seconds, at least 0/],
    ['{"submitSeconds":-1,"durationsSeconds":[2]}', /submitSeconds is '-1'/],
    ['{"submitSeconds":"1","durationsSeconds":[2]}', /submitSeconds is '"1"'/],
    ['{"submitSeconds":1}', /the job has neither durationsSeconds nor stages; use one of them/],
    [
      '{"submitSeconds":1,"durationsSeconds":[1],"stages":[]}',
      /the job has both durationsSeconds and stages/,
    ],
    ['{"submitSeconds":1,"durationsSeconds":[]}', /durationsSeconds is '\[\]'; it must be a non-empty list/],
    ['{"submitSeconds":1,"durationsSeconds":[1,null]}', /durationsSeconds\[1\] is 'null'/],
    ['{"submitSeconds":1,"durationsSeconds":[1,NaN]}', /not JSON/],
    ['{"submitSeconds":1,"durationsSeconds":[1e999]}', /durationsSeconds\[0\] is/],
    [
      '{"submitSeconds":1,"durationsSeconds":[1],"prioirty":3}',
      /the job has the unknown field 'prioirty'; known fields are submit/,
    ],
    [
      '{"submitSeconds":1,"durationsSeconds":[1],"weight":0}',
      /weight is '0'; it must be a number above zero/,
    ],
    [
      '{"submitSeconds":1,"durationsSeconds":[1],"retries":1.5}',
      /retries is '1.5'; it must be a whole number from 0 to 1000/,
    ],
    [
      '{"submitSeconds":1,"durationsSeconds":[1],"maxRunning":0}',
      /maxRunning is '0'; it must be a whole number of at least 1/,
    ],
    ['{"submitSeconds":1,"durationsSeconds":[1],"gang":"yes"}', /gang is '"yes"'; it must be true or false/],
    [
      '{"submitSeconds":1,"durationsSeconds":[1,1],"gang":true,"maxRunning":1}',
      /maxRunning is 1, but all 2 tasks of a gang start together/,
    ],
    [
      '{"submitSeconds":1,"durationsSeconds":[1],"name":""}',
      /name is '""'; it must be a string of 1 to 256 characters, without/,
    ],
    ['{"submitSeconds":1,"durationsSeconds":[1],"demand":{"cpu":"2"}}', /demand.cpu is '"2"'/],
    ['{"submitSeconds":1,"durationsSeconds":[1],"demand":[]}', /demand is '\[\]'; it must be an object/],
    ['{"submitSeconds":1,"durationsSeconds":[1],"machineShare":{"cpu":1}}', /machineShare.memory is missing/],
    ['{"submitSeconds":1,"stages":[{"name":"a"}]}', /stages\[0\].durationsSeconds is missing/],
    [
      '{"submitSeconds":1,"stages":[{"name":"a","durationsSeconds":[1]},{"name":"a","durationsSeconds":[1]}]}',
      /two stages have the name 'a'/,
    ],
    [
      '{"submitSeconds":1,"stages":[{"name":"a","after":["c"],"durationsSeconds":[1]},{"name":"b","durationsSeconds":[1]}]}',
      /stages\[0\].after\[0\] is 'c', which is not a stage of this job; its stages are a, b/,
    ],
    [
      '{"submitSeconds":1,"stages":[{"name":"a","after":["b"],"durationsSeconds":[1]},{"name":"b","after":["a"],"durationsSeconds":[1]}]}',
      /stage 'a' depends on itself, directly or through others; remove the cycle/,
    ],
    ['{"schema":"goshawk.trace/2"}', /the schema is '"goshawk.trace\/2"'; expected goshawk.trace\/1/],
  ])('refuses %s with file and line', async (line, message) => {
    const failure = await read('{"submitSeconds":1,"durationsSeconds":[2]}', line).catch(
      (error: unknown) => error,
    );
    expect(failure).toBeInstanceOf(WorkloadError);
    expect(failure).toMatchObject({ line: 3 });
    expect((failure as Error).message).toMatch(message);
    expect((failure as Error).message).toMatch(/trace\.jsonl:3: [^\n]+; [^\n]+$/);
  });

  it('accepts stages in any order and empty lists of parents, and sorts parents first', async () => {
    const [job] = await read(
      '{"submitSeconds":1,"stages":[{"name":"c","after":["a","b"],"durationsSeconds":[3]},{"name":"b","after":["a"],"durationsSeconds":[2,2]},{"name":"a","after":[],"durationsSeconds":[1]}]}',
    );
    expect(job!.stages).toEqual([
      { name: 'a', after: [], tasks: 1 },
      { name: 'b', after: [0], tasks: 2 },
      { name: 'c', after: [0, 1], tasks: 1 },
    ]);
    expect([...job!.durationsSeconds]).toEqual([1, 2, 2, 3]);
  });

  it('rejects a file without its header or without jobs', async () => {
    await expect(
      collect(flattened(readJsonl(await fileOf('{"submitSeconds":1,"durationsSeconds":[2]}\n')))),
    ).rejects.toThrow(
      /trace\.jsonl:1: the trace has no header; start it with \{"schema":"goshawk\.trace\/1"\}/,
    );
    await expect(openWorkload(await fileOf(HEADER))).rejects.toThrow('trace.jsonl: the trace is empty');
  });
});

it('every field of a job is read as written', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(arbitraryJob, { minLength: 1, maxLength: 4 }), async (jobs) => {
      const file = await fileOf((await collect(jsonLines(jobs))).join(''));
      expect(await collect(flattened(readJsonl(file)))).toEqual(jobs);
    }),
  );
});

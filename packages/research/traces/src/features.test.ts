import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { readPastJobs } from './features.js';
import { collect } from './job.js';
import { openWorkload } from './workload.js';

let folder = '';
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'goshawk-features-test-'));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

async function write(name: string, text: string): Promise<string> {
  const file = join(folder, name);
  await writeFile(file, name.endsWith('.gz') ? gzipSync(text) : text);
  return file;
}

const TRACE = '5 1 30 30\n\n0 2 2 1 3\n';
const HEADER = 'line,submit_s,tasks,job_id,user,job_name,logical_job_name,scheduling_class';

describe('a side file of features', () => {
  test('describes jobs by their line, in any order', async () => {
    const trace = await write('a.tr', TRACE);
    const features = await write('a.features.csv.gz', `${HEADER}\n3,0,2,17,ada,n,l,2\n`);
    const jobs = await collect((await openWorkload(trace, { features })).jobs());
    expect(jobs[0]).toMatchObject({
      submitSeconds: 0,
      user: 'ada',
      name: 'n',
      logicalName: 'l',
      schedulingClass: 2,
    });
    expect(jobs[1]).not.toHaveProperty('user');
  });

  test('columns may be in any order, empty, or missing', async () => {
    const trace = await write('a.tr', TRACE);
    const features = await write('a.csv', 'user,job_name,line\n,x,1\r\n');
    const jobs = await collect((await openWorkload(trace, { features })).jobs());
    expect(jobs[1]).toMatchObject({ name: 'x' });
    expect(jobs[1]).not.toHaveProperty('user');
  });

  test('creates a different workload from the same times', async () => {
    const trace = await write('a.tr', TRACE);
    const features = await write('a.csv', 'line,user\n1,ada\n');
    const [bare, dressed] = [await openWorkload(trace), await openWorkload(trace, { features })];
    expect(await dressed.sha256()).not.toBe(await bare.sha256());
  });

  test.each([
    [
      'is of another trace',
      `${HEADER}\n3,0,7,17,ada,n,l,2\n`,
      'line 3 of the trace has 2 tasks, but 7 in this file',
    ],
    ['says something twice', 'line,user\n1,ada\n1,bob\n', 'this file has two rows for line 1 of the trace'],
    ['does not say of which job', 'user\nada\n', 'missing column line'],
    ['has a line of too few columns', 'line,user\n1\n', 'the line has 1 column instead of 2'],
    ['is empty', '', 'the trace is empty'],
  ])('that %s is refused', async (_, text, message) => {
    const trace = await write('a.tr', TRACE);
    await expect(openWorkload(trace, { features: await write('a.csv', text) })).rejects.toThrow(message);
  });

  test('is only for .tr files', async () => {
    const features = await write('a.csv', 'line,user\n1,ada\n');
    await expect(openWorkload('motivation', { features })).rejects.toThrow('is not a .tr file (a generator)');
  });
});

describe('past jobs', () => {
  test('are in order of their ends, with their features', async () => {
    const file = await write(
      'history.csv.gz',
      'job_id,submit_s,start_s,end_s,user,job_name,logical_job_name,scheduling_class\n' +
        '1,0,2,90,ada,n,l,1\n2,5,6.5,30,bob,,,\n',
    );
    expect(await readPastJobs(file)).toEqual([
      { submitSeconds: 5, endSeconds: 30, runSeconds: 23.5, tasks: 1, user: 'bob' },
      {
        submitSeconds: 0,
        endSeconds: 90,
        runSeconds: 88,
        tasks: 1,
        user: 'ada',
        name: 'n',
        logicalName: 'l',
        schedulingClass: 1,
      },
    ]);
  });

  test.each([
    [
      'that end before they start',
      'submit_s,start_s,end_s\n0,5,3\n',
      'the job ends at 3 s and starts at 5 s',
    ],
    ['without an end', 'submit_s,start_s,end_s\n0,5,\n', 'column 3, the end_s, is empty'],
    ['in another layout', 'submit,start,end\n0,5,9\n', 'missing column submit_s, start_s, end_s'],
  ])('%s are refused', async (_, text, message) => {
    await expect(readPastJobs(await write('history.csv', text))).rejects.toThrow(message);
  });
});

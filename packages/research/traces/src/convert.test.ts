import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { convertTrace } from './convert.js';
import { jobRow, taskRow, writeTables } from './formats/google2011/tables.fixture.js';
import { collect, jobOf } from './job.js';
import { openWorkload } from './workload.js';

let folder: string;
let google: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'goshawk-convert-'));
  google = await writeTables(folder, {
    // The second job ends first.
    job_events: [
      [jobRow(10, 1, 'submit'), jobRow(20, 2, 'submit'), jobRow(25, 2, 'finish'), jobRow(99, 1, 'kill')],
    ],
    task_events: [
      [
        taskRow(10, 1, 0, 'submit'),
        taskRow(11, 1, 0, 'schedule'),
        taskRow(20, 2, 0, 'submit'),
        taskRow(21, 2, 0, 'schedule'),
        taskRow(23, 2, 0, 'finish'),
        taskRow(60, 1, 0, 'finish'),
        taskRow(61, 1, 1, 'submit'),
        taskRow(99, 1, 1, 'kill'),
      ],
    ],
  });
});
afterAll(() => rm(folder, { recursive: true }));

describe('convertTrace', () => {
  it('writes the official tables as .tr in order of submission and counts omissions', async () => {
    const file = join(folder, 'google.tr');
    const { tallied, ...conversion } = await convertTrace(await openWorkload(google), file);
    expect(await readFile(file, 'utf8')).toBe('10 1 49 49\n20 1 2 2\n');
    expect(conversion).toEqual({ format: 'tr', jobs: 2, tasks: 2 });
    expect(Object.fromEntries(tallied.map(({ code, count }) => [code, count]))).toEqual({
      'jobs-partly-finished': 1,
      'tasks-killed': 1,
      'lost-name': 2,
      'lost-user': 2,
      'lost-logicalName': 2,
      'lost-schedulingClass': 2,
      'lost-machineShare': 2,
    });
  });

  it('loses nothing in JSON lines, with and without compression', async () => {
    const workload = await openWorkload(google);
    for (const name of ['all.jsonl', 'all.jsonl.gz']) {
      const { tallied } = await convertTrace(workload, join(folder, name));
      expect(tallied).toEqual(workload.tallied);
      const back = await openWorkload(join(folder, name));
      expect(await collect(back.jobs())).toEqual(await collect(workload.jobs()));
      expect(back.tallied).toEqual([]);
    }
    const bytes = await readFile(join(folder, 'all.jsonl.gz'));
    expect(gunzipSync(bytes).toString()).toBe(await readFile(join(folder, 'all.jsonl'), 'utf8'));
  });

  it('writes generated jobs in the requested format', async () => {
    const file = join(folder, 'drawn');
    await convertTrace(await openWorkload('motivation:jobs=5'), file, { format: 'tr' });
    expect((await openWorkload(file)).jobCount).toBe(5);
  });

  it('writes a sample', async () => {
    const file = join(folder, 'sample.tr');
    const { jobs, tallied } = await convertTrace(await openWorkload(google), file, {
      sample: { fromSeconds: 15 },
    });
    expect(jobs).toBe(1);
    expect(await readFile(file, 'utf8')).toBe('5 1 2 2\n');
    expect(tallied.map(({ code }) => code)).toContain('jobs-outside-window');
  });

  it.each([
    [
      'x.csv',
      undefined,
      /x\.csv: the file name does not identify the format; use a name that ends in \.tr or \.jsonl or/,
    ],
    ['x', undefined, /use a name that ends in/],
    ['x.tr', 'google2011', /google2011 is a read-only format; writable formats are tr or jsonl/],
    ['x.tr', 'hawk', /unknown format 'hawk'; writable formats are tr or jsonl/],
    ['x.tr', 'toString', /unknown format 'toString'/],
  ])('refuses to write %s as %s', async (name, format, message) => {
    const workload = await openWorkload('motivation:jobs=1');
    await expect(convertTrace(workload, join(folder, name), { format })).rejects.toThrow(message);
  });

  it('writes to a stream in the requested format', async () => {
    let text = '';
    const stream = {
      write: (piece: string) => {
        text += piece;
      },
    };
    const workload = await openWorkload('motivation:jobs=1');
    expect(await convertTrace(workload, stream, { format: 'tr' })).toMatchObject({ jobs: 1, tasks: 100 });
    expect(text).toMatch(/^0 100 100 100 /);
    await expect(convertTrace(workload, stream)).rejects.toThrow(/^-: the file name does not identify /);
  });

  it('keeps the old file if it is aborted', async () => {
    const file = join(folder, 'kept.tr');
    await writeFile(file, 'before');
    const jobs = async function* () {
      yield jobOf(0, Float64Array.of(1));
      throw new Error('interrupted');
    };
    await expect(convertTrace({ jobs, tallied: [] }, file)).rejects.toThrow('interrupted');
    expect(await readFile(file, 'utf8')).toBe('before');
    expect((await readdir(folder)).filter((name) => name.includes('partial'))).toEqual([]);
  });
});

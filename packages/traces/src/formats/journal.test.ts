import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { collect } from '../job.js';
import { formatTally } from '../tally.js';
import { openWorkload } from '../workload.js';
import { detectFormat } from './index.js';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'goshawk-journal-trace-'));
});
afterAll(() => rm(folder, { recursive: true }));

async function read(...entries: readonly object[]) {
  const file = join(folder, 'export');
  await writeFile(file, entries.map((entry) => `${JSON.stringify(entry)}\n`).join(''));
  const format = await detectFormat(file);
  expect(format.name).toBe('journal');
  const workload = await openWorkload(file);
  const jobs = await collect(workload.jobs());
  const plain = jobs.map((job) => ({ ...job, durationsSeconds: Array.from(job.durationsSeconds) }));
  return { jobs: plain, tally: formatTally(workload.tallied) };
}

const spec = (tasks: object, more: object = {}) => ({
  name: 'count',
  user: 'ann',
  stages: [{ name: 'tasks', after: [], demand: {}, tasks }],
  ...more,
});
const accepted = (id: string, at: number, of: object) => ({ id, kind: 'accepted', at, spec: of });
const attempt = (id: string, task: number, runMs: number, kind = 'completed') => {
  return { id, kind: 'attempt', at: 9_000, task, attempt: 1, outcome: { kind }, runMs };
};
const ended = (id: string) => ({ id, kind: 'ended', at: 9_000, state: 'completed' });

describe('the export of a journal', () => {
  it('is a workload of the ended jobs with their run times', async () => {
    const run = { sleep: 1 };
    const { jobs, tally } = await read(
      { id: 'abcde-0', kind: 'schedulers', at: 1_000, names: ['s0'] },
      accepted('abcde-2', 5_500, spec({ count: 1, run }, { estimateMs: 2_000 })),
      attempt('abcde-2', 0, 700, 'failed'),
      attempt('abcde-2', 0, 1_500),
      ended('abcde-2'),
      accepted('abcde-1', 5_000, spec({ each: [run, run, run] })),
      attempt('abcde-1', 2, 30),
      attempt('abcde-1', 0, 10),
      attempt('abcde-1', 1, 20, 'failed'),
      ended('abcde-1'),
      accepted('abcde-3', 6_000, spec({ count: 1, run })),
      accepted('abcde-4', 6_000, spec({ count: 1, run })),
      ended('abcde-4'),
    );
    expect(jobs).toEqual([
      { submitSeconds: 0, durationsSeconds: [0.01, 0.03], meanSeconds: 0.02, name: 'count', user: 'ann' },
      {
        submitSeconds: 0.5,
        durationsSeconds: [1.5],
        meanSeconds: 1.5,
        name: 'count',
        user: 'ann',
        estimateSeconds: 2,
      },
    ]);
    expect(tally).toEqual([
      '1  tasks that did not complete, of jobs that are taken: left out',
      '1  jobs that have not ended: left out',
      '1  jobs of which a stage has no task that completed: left out',
    ]);
  });

  it('keeps stages and demands', async () => {
    const stages = [
      { name: 'map', after: [], demand: { cpu: 1 }, tasks: { count: 2, run: { sleep: 1 } } },
      // Not a real export: it has no demand.
      { name: 'reduce', after: [0], tasks: { count: 1, run: { sleep: 1 } } },
    ];
    const { jobs } = await read(
      accepted('abcde-1', 0, { name: 'words', stages }),
      ...[0, 1, 2].map((task) => attempt('abcde-1', task, 1_000 * (task + 1))),
      ended('abcde-1'),
    );
    expect(jobs).toEqual([
      {
        submitSeconds: 0,
        durationsSeconds: [1, 2, 3],
        meanSeconds: 2,
        name: 'words',
        stages: [
          { name: 'map', after: [], tasks: 2, demand: { cpu: 1 } },
          { name: 'reduce', after: [0], tasks: 1 },
        ],
      },
    ]);
  });

  it('is rejected with file and line if it is invalid', async () => {
    await expect(read(accepted('abcde-1', 0, spec({ count: 1 })), { x: 1 })).rejects.toThrow(
      /export:2: not a journal record: '\{"x":1\}'/,
    );
    await expect(read({ id: 'abcde-0', kind: 'schedulers', at: 1, names: [] })).rejects.toThrow(
      'the trace is empty',
    );
  });

  it.each([
    [accepted('abcde-1', 0, {}), /export:1: the record has a wrong spec\.stages; /],
    [accepted('abcde-1', 0, spec({ count: 'many', run: { sleep: 1 } })), /wrong spec\.stages\[0\]/],
    [accepted('abcde-1', 0, spec({ count: 2e9, run: { sleep: 1 } })), /wrong spec\.stages\[0\]/],
    [accepted('abcde-1', 0, spec({})), /wrong spec\.stages\[0\]/],
    [{ ...attempt('abcde-1', 0, 1), runMs: null }, /wrong runMs/],
    [{ ...attempt('abcde-1', 0, 1), task: -1 }, /wrong task/],
    [accepted('abcde-1', 1e300, spec({ count: 1 })), /not a journal record/],
  ])('whose record is damaged is refused: %o', async (record, message) => {
    await expect(read(record)).rejects.toThrow(message);
  });
});

import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { collect } from '../job.js';
import { formatTally, Tally } from '../tally.js';
import { openWorkload } from '../workload.js';
import { detectFormat } from './index.js';
import { type JournalEntry, RecordedRuns } from './journal.js';

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
      '1  tasks that did not complete, in jobs that are read: omitted',
      '1  jobs that have not ended: omitted',
      '1  jobs with a stage in which no task completed: omitted',
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

  it('keeps the constraints on where and when its jobs may start', async () => {
    const requires = { zone: 'eu,us' };
    const stages = [
      {
        name: 'ranks',
        after: [],
        demand: { gpu: 1 },
        requires,
        gang: true,
        tasks: { count: 2, run: { sleep: 1 } },
      },
    ];
    const { jobs } = await read(
      accepted('abcde-1', 0, {
        name: 'train',
        stages,
        prefer: { rack: 'r1' },
        deadlineMs: 60_000,
        preemptible: true,
        priority: 'high',
      }),
      ...[0, 1].map((task) => attempt('abcde-1', task, 1_000)),
      ended('abcde-1'),
    );
    expect(jobs).toMatchObject([
      {
        demand: { gpu: 1 },
        require: requires,
        prefer: { rack: 'r1' },
        gang: true,
        deadlineSeconds: 60,
        preemptible: true,
        priority: 'high',
      },
    ]);
  });

  it('submits a job when its user lets it start', async () => {
    const run = { sleep: 1 };
    const updated = (id: string, at: number, held: boolean, more: object = {}) => {
      return { id, kind: 'updated', at, held, priority: 'normal', ...more };
    };
    const { jobs } = await read(
      accepted('abcde-1', 0, spec({ count: 1, run })),
      attempt('abcde-1', 0, 10),
      ended('abcde-1'),
      accepted('abcde-2', 0, spec({ count: 1, run }, { begin: { afterMs: 3_000 }, deadlineMs: 8_000 })),
      attempt('abcde-2', 0, 20),
      ended('abcde-2'),
      accepted('abcde-3', 0, spec({ count: 1, run }, { hold: true })),
      updated('abcde-3', 2_000, false, { priority: 'high' }),
      attempt('abcde-3', 0, 30),
      // A hold after the first start delays only the remaining tasks.
      updated('abcde-3', 5_000, true),
      updated('abcde-3', 6_000, false),
      ended('abcde-3'),
      accepted('abcde-4', 0, spec({ count: 1, run }, { afterOk: ['abcde-1'] })),
      { id: 'abcde-4', kind: 'passed', at: 4_000, after: 'abcde-1' },
      attempt('abcde-4', 0, 40),
      ended('abcde-4'),
    );
    expect(
      jobs.map(({ submitSeconds, meanSeconds, priority, deadlineSeconds }) => {
        return [submitSeconds, meanSeconds, priority, deadlineSeconds];
      }),
    ).toEqual([
      [0, 0.01, undefined, undefined],
      [2, 0.03, 'high', undefined],
      [3, 0.02, undefined, 5],
      [4, 0.04, undefined, undefined],
    ]);
  });

  it('counts the time of a job from when its user let it start, and none after a retry', () => {
    const runs = new RecordedRuns();
    const run = { sleep: 1 };
    const note = (entry: object) => runs.note(entry as JournalEntry);
    for (const id of ['a-1', 'a-2']) {
      note(accepted(id, 1_000, spec({ count: 1, run }, { begin: { at: 4_000 } })));
      note(attempt(id, 0, 10));
      note(ended(id));
    }
    note({ id: 'a-2', kind: 'retried', at: 10_000, key: 'k', choice: {} });
    note(ended('a-2'));
    expect(runs.jobs(new Tally()).map(({ runtimeSeconds }) => runtimeSeconds)).toEqual([5, undefined]);
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
    [accepted('abcde-1', 0, spec({ count: 1 }, { begin: { at: 'noon' } })), /wrong spec\.begin/],
    [{ id: 'abcde-1', kind: 'updated', at: 1, held: false, beginAt: 'noon' }, /wrong beginAt/],
    [accepted('abcde-1', 1e300, spec({ count: 1 })), /not a journal record/],
  ])('whose record is damaged is refused: %o', async (record, message) => {
    await expect(read(record)).rejects.toThrow(message);
  });
});

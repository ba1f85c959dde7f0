import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Tasks } from '@goshawk/client';
import { LIMITS, type Payload, type TaskRow } from '@goshawk/core';
import { afterAll, expect, it } from 'vitest';
import { jobDetail } from './jobs.fixture.js';
import { outputFileLines, outputFiles } from './output-files.js';

const folder = mkdtempSync(join(tmpdir(), 'goshawk-output-'));
afterAll(() => rmSync(folder, { recursive: true }));

function jobOf(payloads: readonly Payload[], rows: readonly Partial<TaskRow>[]) {
  const tasks = rows.map(
    (row, index): TaskRow => ({
      index,
      stage: 'tasks',
      state: 'completed',
      attempt: 1,
      worker: 'w1',
      ...row,
    }),
  );
  return {
    id: 'a1-3',
    describe: async () => jobDetail({ spec: { stages: [{ tasks: { each: payloads } }] } }),
    tasksPage: async ({ from = 0 }: { from?: number | undefined }) => {
      const next = from + 2 < tasks.length ? from + 2 : undefined;
      const page: Tasks = { tasks: tasks.slice(from, from + 2), total: tasks.length, next, submittedAt: 0 };
      return page;
    },
  };
}

const ALL = { failed: false, attempt: 'last' } as const;
const { signal } = new AbortController();
const exec = ['x'];

it('prints the file of each task, with the placeholders filled in', async () => {
  writeFileSync(join(folder, 'a1-3-x-0-2.txt'), 'zero');
  writeFileSync(join(folder, 'both.txt'), 'both');
  writeFileSync(join(folder, 'long.txt'), `begin${'x'.repeat(LIMITS.outputBytesMax)}`);
  const payloads: Payload[] = [
    { exec, cwd: folder, stdout: '{job}-x-{index}-{attempt}.txt' },
    { exec, cwd: folder, stdout: 'both.txt', stderr: 'both.txt' },
    { exec, stdout: join(folder, 'missing.txt') },
    { exec },
    { exec, stderr: join(folder, 'long.txt') },
    { exec, stdout: join(folder, 'both.txt') },
  ];
  const rows = [{ attempt: 2 }, {}, { state: 'failed' }, {}, {}, { state: 'waiting', attempt: 0 }] as const;
  const job = jobOf(payloads, rows);
  const found = await outputFiles(job, ALL, signal);
  const texts = found.chunks.map(({ task, attempt, stream, bytes }) => [
    ...[task, attempt, stream],
    Buffer.from(bytes.subarray(0, 4)).toString(),
  ]);
  expect(texts).toEqual([
    [0, 2, 'stdout', 'zero'],
    [1, 1, 'stdout', 'both'],
    [4, 1, 'stderr', 'xxxx'],
  ]);
  expect(outputFileLines(found)).toEqual([
    `printed from ${folder}/a1-3-x-0-2.txt and 2 other files on this machine`,
    `only the last ${LIMITS.outputBytesMax} bytes are printed of ${folder}/long.txt`,
    `output is in ${folder}/missing.txt on worker w1, which this machine does not have`,
  ]);
  const one = await outputFiles(job, { ...ALL, tasks: [{ first: 1, last: 1 }] }, signal);
  expect(one.chunks.map(({ task }) => task)).toEqual([1]);
  expect((await outputFiles(job, { ...ALL, failed: true }, signal)).elsewhere).toHaveLength(1);
  expect((await outputFiles(job, { ...ALL, attempt: 2 }, signal)).read).toHaveLength(1);
});

it('reads neither folders nor devices, and asks for no tasks of a job without files', async () => {
  const found = await outputFiles(
    jobOf(
      [
        { exec, stdout: '/dev/zero' },
        { exec, stdout: folder },
      ],
      [{}, {}],
    ),
    ALL,
    signal,
  );
  expect(found).toMatchObject({ chunks: [], elsewhere: [{ path: '/dev/zero' }, { path: folder }] });
  const without = {
    ...jobOf([{ exec }, { sleep: 1 }], [{}, {}]),
    tasksPage: () => Promise.reject(new Error('asked')),
  };
  expect(outputFileLines(await outputFiles(without, ALL, signal))).toEqual([]);
});

import type { TaskResult, Tasks } from '@goshawk/client';
import { type Payload, parseCsv, type TaskRow } from '@goshawk/core';
import { describe, expect, it } from 'vitest';
import { jobDetail, recordingContext, stageDetail, taskCounts } from './jobs.fixture.js';
import { showTasks } from './show-tasks.js';

const submittedAt = new Date(2026, 0, 2, 3, 4, 5).getTime();

function row(index: number, more: Partial<TaskRow> = {}): TaskRow {
  const ran = { worker: 'w1', startedMs: 1_000, runMs: 250, exitCode: 0 };
  return { index, stage: 'tasks', state: 'completed', attempt: 1, ...ran, ...more };
}

interface Given {
  readonly payloads?: readonly Payload[];
  readonly values?: readonly unknown[];
}

/** Returns a job whose scheduler lists two tasks per page. */
function jobOf(rows: readonly TaskRow[], stages: number, given: Given = {}) {
  const names = Array.from({ length: stages }, (_, index) => `s${index}`);
  return {
    id: 'a1-3',
    describe: async () =>
      jobDetail({
        ...(given.payloads && { spec: { stages: [{ tasks: { each: given.payloads } }] } }),
        tasks: taskCounts({ completed: rows.length }),
        stages: names.map((name) => stageDetail({ name, state: 'completed', tasks: 1 })),
      }),
    resultsPage: async ({ from = 0 }: { from?: number }) => {
      const values = given.values ?? [];
      const results = values.map((value, index) => ({ index, value }) as TaskResult).slice(from, from + 2);
      return { results, next: from + 2 < values.length ? from + 2 : undefined };
    },
    tasksPage: async ({ from = 0, limit = 2 }: { from?: number | undefined; limit?: number | undefined }) => {
      const matching = rows.filter(({ index }) => index >= from);
      const tasks = matching.slice(0, Math.min(limit, 2));
      const page: Tasks = { tasks, total: rows.length, next: matching[tasks.length]?.index, submittedAt };
      return page;
    },
  };
}

const ALL = { from: 0, limit: Number.POSITIVE_INFINITY };

async function shown(
  rows: readonly TaskRow[],
  format: 'text' | 'json' | 'csv',
  { listing = ALL, stages = 1, ...given }: Given & { listing?: typeof ALL; stages?: number } = {},
) {
  const { context, written } = recordingContext();
  await showTasks(context, jobOf(rows, stages, given), listing, format);
  return written;
}

it('a task that lends its CPUs is paused; its run time excludes pauses, and its end includes them', async () => {
  const rows = [
    row(0, { state: 'running', runMs: 3_000, pausedMs: 2_000, lentTo: { job: 'b2-7', task: 4 } }),
    row(1, { runMs: 3_000, pausedMs: 500 }),
    row(2, { runMs: 1_000, borrowedFrom: [{ job: 'a1-3', task: 0 }] }),
    row(3, { state: 'running', runMs: 1_000, borrows: true, borrowedFrom: [{ job: 'a1-3', task: 0 }] }),
    row(4, { state: 'running', runMs: 1_000, lentTo: { job: 'b2-8', task: 0 }, toChild: true }),
  ];
  const { stdout } = await shown(rows, 'text');
  expect(stdout).toMatch(/0 +paused .* 3 s \+ 2 s paused\n/);
  expect(stdout).toMatch(/3 +running .* 1 s on the CPU of a1-3\/0\n/);
  expect(stdout).toMatch(/4 +running .* 1 s\n/);
  const { tasks } = JSON.parse((await shown(rows, 'json')).stdout) as { tasks: object[] };
  expect(tasks).toMatchObject([
    { state: 'running', pausedSeconds: 2, lentTo: 'b2-7/4', borrowedFrom: [], endedAt: null },
    { pausedSeconds: 0.5, lentTo: null, endedAt: new Date(submittedAt + 4_500).toISOString() },
    { pausedSeconds: 0, borrowedFrom: ['a1-3/0'], endedAt: new Date(submittedAt + 2_000).toISOString() },
    { state: 'running', borrowedFrom: ['a1-3/0'], endedAt: null },
    { pausedSeconds: 0, lentTo: 'b2-8/0', toChild: true },
  ]);
});

describe('tasks as text', () => {
  const rows = [
    row(0, { worker: 'a-worker-with-a-long-name' }),
    row(1, {
      state: 'failed',
      attempt: 2,
      exitCode: 3,
      error: 'exit code 3: the input of this task is not what it should be, by far',
    }),
    { index: 2, stage: 'tasks', state: 'waiting', attempt: 0 } as const,
  ];

  it('fit 80 columns under one heading on all pages', async () => {
    const { stdout } = await shown(rows, 'text');
    const lines = stdout.trimEnd().split('\n');
    expect(lines).toHaveLength(4);
    for (const line of lines) expect(line.length).toBeLessThanOrEqual(80);
    expect(lines[0]).toMatch(/^task +state +try +worker +exit +started +ran +error$/);
    expect(lines[2]).toMatch(/^ +1 +failed +2 .* 3 +01-02 03:04:06 +250 ms +exit/);
    expect(lines[3]).toMatch(/^ +2 +waiting$/);
  });

  it('name the stage if there are several, and show where a truncated list continues', async () => {
    const { stdout, stderr } = await shown(rows, 'text', { stages: 2, listing: { from: 0, limit: 1 } });
    expect(stdout).toMatch(/task +stage +state/);
    expect(stdout.trimEnd().split('\n')).toHaveLength(2);
    expect(stderr).toBe('there are more tasks; continue with --from 1\n');
  });

  it('print a message if there are none', async () => {
    expect(await shown([], 'text')).toEqual({ stdout: '', stderr: 'no such tasks\n' });
  });
});

describe('tasks as JSON', () => {
  it('are one value for all pages', async () => {
    const { stdout } = await shown(
      [row(0), row(1), row(2, { state: 'running', exitCode: undefined })],
      'json',
    );
    const listed = JSON.parse(stdout);
    expect(listed).toMatchObject({ job: 'a1-3', total: 3, truncated: false, next: null });
    expect(listed.tasks.map(({ index }: TaskRow) => index)).toEqual([0, 1, 2]);
    expect(listed.tasks[0]).toEqual({
      index: 0,
      stage: 'tasks',
      state: 'completed',
      attempt: 1,
      worker: 'w1',
      exitCode: 0,
      startedAt: new Date(submittedAt + 1_000).toISOString(),
      endedAt: new Date(submittedAt + 1_250).toISOString(),
      runSeconds: 0.25,
      maxRssBytes: null,
      error: null,
      pausedSeconds: 0,
      lentTo: null,
      borrowedFrom: [],
      toChild: false,
      fromParent: false,
    });
    expect(listed.tasks[2]).toMatchObject({ endedAt: null, exitCode: null });
  });

  it('are one value even if there are none, or the list is truncated', async () => {
    expect(JSON.parse((await shown([], 'json')).stdout)).toMatchObject({ tasks: [], total: 0, next: null });
    const cut = await shown([row(0), row(1), row(2)], 'json', { listing: { from: 0, limit: 1 } });
    expect(JSON.parse(cut.stdout)).toMatchObject({ total: 3, truncated: true, next: 1 });
  });
});

it('tasks as CSV have one heading, and no formulas', async () => {
  const rows = [row(0), row(1), row(2, { state: 'failed', exitCode: 1, error: '=HYPERLINK("x")' })];
  const { stdout } = await shown(rows, 'csv');
  const lines = stdout.trimEnd().split('\n');
  expect(lines[0]).toBe(
    'index,stage,state,attempt,worker,exitCode,startedAt,endedAt,runSeconds,pausedSeconds,maxRssBytes,error,command',
  );
  expect(lines).toHaveLength(4);
  expect(lines[3]).toMatch(/^2,tasks,failed,1,w1,1,2026-\S+Z,2026-\S+Z,0\.25,0,,"'=HYPERLINK\(""x""\)",$/);
});

it('the CSV has a column per parameter and field of the values, whatever their names', async () => {
  const payloads: Payload[] = [
    { exec: ['./sim', '-0.5'], params: { rate: '-0.5', state: 'x' }, returns: true },
    { exec: ['echo $A', 'a b'], shell: true, params: { rate: '0.5', state: 'y' }, returns: true },
    { module: '/w.mjs', export: 'run', input: { rate: 2, list: [1] } },
    { exec: ['x'], env: { GOSHAWK_ARRAY_VALUE: '007' }, returns: true },
    { module: '/w.mjs', input: 5 },
  ];
  const values = [{ loss: 1.5, rate: 'r' }, null, 'text', { loss: { a: 1 } }, 3];
  const { stdout } = await shown(
    values.map((_, index) => row(index)),
    'csv',
    { payloads, values },
  );
  const [titles, ...rows] = parseCsv(stdout).map(({ cells }) => cells);
  const after = titles!.slice(2 + 4, -4);
  expect(titles!.slice(0, 6)).toEqual(['index', 'stage', 'rate', 'param.state', 'array', 'input']);
  expect(after[0]).toBe('state');
  expect(titles!.slice(-4)).toEqual(['command', 'value', 'loss', 'value.rate']);
  expect(rows.map((cells) => [...cells.slice(2, 6), ...cells.slice(-4)])).toEqual([
    ['-0.5', 'x', '', '', './sim -0.5', '', '1.5', 'r'],
    ['0.5', 'y', '', '', "echo $A 'a b'", '', '', ''],
    ['2', '', '', '', '/w.mjs#run', 'text', '', ''],
    ['', '', '007', '', 'x', '', '{"a":1}', ''],
    ['', '', '', '5', '/w.mjs', '3', '', ''],
  ]);
  for (const cells of rows) expect(cells).toHaveLength(titles!.length);
});

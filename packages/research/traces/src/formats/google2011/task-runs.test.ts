import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { inOrder, taskRow, writeTables } from './tables.fixture.js';
import { readTaskRuns } from './task-runs.js';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'task-runs-'));
});
afterAll(() => rm(folder, { recursive: true }));

test('returns every finished task with its request and time', async () => {
  const rows = inOrder([
    taskRow(0, 1, 0, 'submit'),
    taskRow(610, 1, 0, 'schedule'),
    taskRow(650, 1, 0, 'finish'),
    taskRow(620, 2, 0, 'submit', '0.5,0.25,0'),
    taskRow(615, 2, 1, 'submit', '0.1,0.3,0'),
    taskRow(630, 2, 0, 'schedule'),
    taskRow(640, 2, 1, 'schedule'),
    taskRow(645, 2, 1, 'evict'),
    taskRow(646, 2, 1, 'submit', '0.1,0.4,0'),
    taskRow(647, 2, 1, 'schedule'),
    taskRow(700, 2, 0, 'kill'),
    taskRow(701, 2, 1, 'finish'),
    taskRow(702, 3, 0, 'submit'),
  ]);
  const runs = await readTaskRuns(await writeTables(folder, { job_events: [[]], task_events: [rows] }));
  expect(runs).toEqual([
    { submitSeconds: 646, durationSeconds: 54, request: { cpu: 0.1, memory: 0.4, disk: 0 } },
  ]);
});

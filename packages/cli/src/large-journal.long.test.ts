import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { type JobRecordOf, type JobSpec, type Payload, parseJobSpec } from '@goshawk/core';
import { importJournal, inPostgres } from '@goshawk/journal';
import { databases } from '@goshawk/journal/testing';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { GOSHAWK } from './daemons.fixture.js';
import { runGoshawk } from './goshawk-process.fixture.js';
import { TestDaemons } from './test-daemons.fixture.js';

// The journals have a copy of the payload for each task; a heap is smaller than one record.

const HEAP_MIB = 80;
const TASKS = 80_000;
const SMALL_HEAP = { NODE_OPTIONS: `--max-old-space-size=${HEAP_MIB}` };

function accepted(job: number, each: readonly Payload[]): JobRecordOf<'accepted'> {
  const spec: JobSpec = {
    ...parseJobSpec({ name: `job ${job}`, hold: true, tasks: [{ sleep: 1 }] }),
    stages: [{ name: 'main', after: [], demand: {}, tasks: { each } }],
  };
  const rest = { class: 'short', classifiedBy: 'given', route: { by: 'probing', over: 'all' } } as const;
  return { kind: 'accepted', job, at: Date.now(), key: `key-${job}`, spec, ...rest };
}

const payload = (task: number): Payload => ({ exec: ['true'], env: { BIG: `${task} ${'x'.repeat(1_200)}` } });

const folder = mkdtempSync(join(tmpdir(), 'goshawk-large-journal-'));
const daemons = new TestDaemons('large-journal', { beforeEach, afterEach });

/** Returns three jobs: one with identical tasks, one with different tasks, and a small one. */
function records(tasks: number): JobRecordOf<'accepted'>[] {
  const one = payload(0);
  const alike = Array.from({ length: tasks }, () => one);
  const different = Array.from({ length: tasks }, (_, task) => payload(task));
  return [accepted(1, alike), accepted(2, different), accepted(3, [{ sleep: 1 }])];
}

async function writeJournal(data: string): Promise<void> {
  await importJournal(join(data, 'journal'), { tag: 'large', version: '0.0.0' }, records(TASKS));
}

beforeAll(() => writeJournal(folder));
afterAll(() => rmSync(folder, { recursive: true }));

describe('a journal with records that are larger than the heap', () => {
  test('is verified', async () => {
    const { exitCode, stdout, stderr } = await runGoshawk(['journal', 'verify', folder], SMALL_HEAP);
    expect([exitCode, stdout, stderr]).toEqual([0, '3 records of 3 jobs can be read, 0 damaged\n', '']);
  });

  test('is exported with every task', async () => {
    const child = spawn(process.execPath, [GOSHAWK, 'journal', 'export', folder], {
      env: { ...process.env, ...SMALL_HEAP },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const ended = once(child, 'exit');
    const lines: { id: string; spec: JobSpec }[] = [];
    for await (const line of createInterface({ input: child.stdout })) lines.push(JSON.parse(line));
    expect(await ended).toEqual([0, null]);
    expect(lines.map(({ id }) => id)).toEqual(['large-1', 'large-2', 'large-3']);
    const payloads = lines.map(({ spec }) => (spec.stages[0]!.tasks as { each: Payload[] }).each);
    expect(payloads.map(({ length }) => length)).toEqual([TASKS, TASKS, 1]);
    expect(payloads[0]!.at(-1)).toEqual(payload(0));
    expect(payloads[1]!.at(-1)).toEqual(payload(TASKS - 1));
  });

  test('starts a scheduler, which skips and reports jobs that do not fit', async () => {
    await daemons.startCentral();
    const data = join(daemons.folder, 's0');
    await writeJournal(data);
    await daemons.startScheduler('s0', [], SMALL_HEAP);
    await using client = await daemons.connect();
    await expect
      .poll(async () => (await client.jobs()).jobs.map(({ id }) => id))
      .toEqual(['large-1', 'large-3']);
    expect((await client.job('large-1').describe()).tasks).toMatchObject({ total: TASKS, waiting: TASKS });
    expect(daemons.logOf('s0')).toMatch(/"job":"large-2".*a record is skipped: it takes more than \d+ MiB/);
  });
});

const newDatabase = databases();

describe.skipIf(!newDatabase.isThere)('such a journal in PostgreSQL', () => {
  // In PostgreSQL, where records are text, one record is about as large as the heap.
  const STORED_TASKS = 30_000;

  test('is verified, and starts a scheduler', async () => {
    const url = await newDatabase();
    const { importStored, initStore } = await inPostgres();
    await initStore(url);
    await importStored(url, 's0', { tag: 'large', version: '0.0.0' }, records(STORED_TASKS));
    const { exitCode, stdout } = await runGoshawk(['journal', 'verify', url], SMALL_HEAP);
    expect([exitCode, stdout]).toEqual([0, '3 records of 3 jobs can be read, 0 damaged\n']);
    await daemons.startCentral();
    await daemons.startScheduler('s0', ['--journal', url], SMALL_HEAP);
    await using client = await daemons.connect();
    await expect
      .poll(async () => (await client.jobs()).jobs.map(({ id }) => id))
      .toEqual(expect.arrayContaining(['large-1', 'large-3']));
    expect((await client.job('large-1').describe()).tasks).toMatchObject({ total: STORED_TASKS });
  });
});

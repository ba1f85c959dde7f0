import { setTimeout as pause } from 'node:timers/promises';
import type { Cluster, JobHandle } from '@goshawk/client';
import { databases } from '@goshawk/journal/testing';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { Daemon } from '../daemons.fixture.js';
import { runGoshawk, startGoshawk } from '../goshawk-process.fixture.js';
import { TestDaemons } from '../test-daemons.fixture.js';

const daemons = new TestDaemons('output-kept', { beforeEach, afterEach });
const database = databases();

const LINES = Array.from({ length: 1_000 }, (_, i) => `line ${i + 1}`);
const TEXT = `${LINES.join('\n')}\n`;

/** Prints the lines within about five seconds. */
const COUNT =
  'i=0; while [ $i -lt 1000 ]; do i=$((i+1)); echo line $i; [ $((i%10)) -gt 0 ] || sleep 0.05; done';

const script = (of: string) => ({ exec: ['sh', '-c', of] as [string, ...string[]] });

/** Resolves once the first lines have arrived. */
async function hasBegun(job: JobHandle): Promise<void> {
  for await (const _ of job.logs({ follow: true })) return;
}

async function logsOverHttp(id: string) {
  const gateway = await daemons.start('gateway', [
    ...['dashboard', '--listen', '127.0.0.1:0', '--cluster', daemons.url],
  ]);
  const response = await fetch(new URL(`/v1/jobs/${id}/logs`, gateway.endpoint));
  const { chunks, truncated } = (await response.json()) as {
    chunks: { text: string }[];
    truncated: boolean;
  };
  return { text: chunks.map(({ text }) => text).join(''), truncated };
}

test('output arrives exactly once and in order although the scheduler is killed meanwhile', async () => {
  await daemons.startCentral();
  const scheduler = await daemons.startScheduler('s0');
  await daemons.startWorker('w0', ['--cpus', '4']);
  await using cluster = await daemons.connect();
  const counting = await cluster.submit({ tasks: [script(COUNT)] });
  // Ends while the scheduler is away.
  const held = 'echo before; until [ -e go ]; do sleep 0.1; done; echo after; exit 3';
  const ending = await cluster.submit({ tasks: [{ ...script(held), cwd: daemons.folder }] });
  const at = ['--cluster', daemons.url];
  const follow = startGoshawk(['logs', counting.id, '--follow', ...at]);
  const run = startGoshawk(['run', ...at, '--', 'sh', '-c', COUNT]);
  await Promise.all([follow.firstLine, run.firstLine, hasBegun(ending)]);
  await pause(500);
  await scheduler.kill();
  daemons.letGo();
  await pause(2_500);
  await daemons.startScheduler('s0');

  expect(await follow.finished).toMatchObject({ exitCode: 0, stdout: TEXT, stderr: '' });
  expect(await run.finished).toMatchObject({ exitCode: 0, stdout: TEXT, stderr: '' });
  expect(await runGoshawk(['logs', counting.id, ...at])).toMatchObject({ stdout: TEXT, stderr: '' });
  expect(await logsOverHttp(counting.id)).toEqual({ text: TEXT, truncated: false });
  const { state, failures } = await ending.wait();
  expect([state, failures[0]?.exitCode]).toEqual(['failed', 3]);
  expect(await runGoshawk(['logs', ending.id, ...at])).toMatchObject({
    stdout: 'before\nafter\n',
    stderr: '',
  });
});

test.runIf(database.isThere)('output arrives exactly once and in order across a takeover', async () => {
  const schedulers = await startWithSharedJournal();
  await using cluster = await daemons.connect();
  const job = await cluster.submit({ tasks: [script(`${COUNT}; sleep 5; echo end`)] });
  const at = ['--cluster', daemons.url];
  const follow = startGoshawk(['logs', job.id, '--follow', ...at]);
  await follow.firstLine;
  await killOwner(job.id, schedulers, cluster);

  const text = `${TEXT}end\n`;
  expect(await follow.finished).toMatchObject({ exitCode: 0, stdout: text, stderr: '' });
  expect(await runGoshawk(['logs', job.id, ...at])).toMatchObject({ stdout: text, stderr: '' });
});

test('output of ended tasks survives a scheduler that is killed as soon as they end', async () => {
  await daemons.startCentral();
  let scheduler = await daemons.startScheduler('s0');
  await daemons.startWorker('w0', ['--cpus', '4']);
  await using cluster = await daemons.connect();
  const at = ['--cluster', daemons.url];
  const silent = await cluster.submit({ tasks: [script('true')] });
  await silent.wait();
  const ids: string[] = [];
  const begin = Date.now();
  for (let round = 0; round < 3; round++) {
    const job = await cluster.submit({ tasks: [script(`echo round ${round}; echo why >&2; exit 3`)] });
    ids.push(job.id);
    expect((await job.wait()).state).toBe('failed');
    await scheduler.kill();
    scheduler = await daemons.startScheduler('s0');
  }
  let before = begin;
  for (const [round, id] of ids.entries()) {
    const { stdout, stderr } = await runGoshawk(['logs', id, '--timestamps', ...at]);
    const [time = '', ...words] = stdout.split(' ');
    expect([words.join(' '), stderr.split(' ')[1]]).toEqual([`round ${round}\n`, 'why\n']);
    expect(Date.parse(time)).toBeGreaterThanOrEqual(before);
    before = Date.parse(time);
    expect((await runGoshawk(['job', id, ...at])).stdout).toContain('why');
    expect(await logsOverHttp(id)).toEqual({ text: `round ${round}\nwhy\n`, truncated: false });
  }
  expect(await logsOverHttp(silent.id)).toEqual({ text: '', truncated: false });
});

test.runIf(database.isThere)('output of ended tasks is read from the scheduler that takes over', async () => {
  const schedulers = await startWithSharedJournal();
  await using cluster = await daemons.connect();
  const job = await cluster.submit({ tasks: [script('echo kept; echo why >&2; exit 3')] });
  await job.wait();
  await killOwner(job.id, schedulers, cluster);
  const at = ['--cluster', daemons.url];
  const { stdout, stderr } = await runGoshawk(['logs', job.id, ...at]);
  expect([stdout, stderr]).toEqual(['kept\n', 'why\n']);
  expect((await runGoshawk(['job', job.id, ...at])).stdout).toContain('why');
});

/** Starts two schedulers that can take over from each other, and a worker. */
async function startWithSharedJournal(): Promise<ReadonlyMap<string, Daemon>> {
  const journal = await database();
  expect((await runGoshawk(['journal', 'init', journal])).exitCode).toBe(0);
  await daemons.startCentral();
  const schedulers = new Map<string, Daemon>();
  for (const name of ['s0', 's1'])
    schedulers.set(name, await daemons.startScheduler(name, ['--journal', journal]));
  await daemons.startWorker('w0', ['--cpus', '4']);
  return schedulers;
}

async function killOwner(
  job: string,
  schedulers: ReadonlyMap<string, Daemon>,
  cluster: Cluster,
): Promise<void> {
  const { schedulers: known } = await cluster.describe();
  const owner = known.find(({ tag }) => job.startsWith(`${tag}-`))!;
  await schedulers.get(owner.name)!.kill();
}

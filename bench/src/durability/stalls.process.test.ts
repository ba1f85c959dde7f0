import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect } from '@goshawk/client';
import { LIVE_TIMINGS } from '@goshawk/core';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { type Daemon, startDaemon } from '../daemons.js';

const { leaseMs } = LIVE_TIMINGS;

let folder: string;
const daemons: Daemon[] = [];
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'goshawk-stalls-'));
});
afterEach(async () => {
  for (const daemon of daemons.splice(0).reverse()) await daemon.kill();
  rmSync(folder, { recursive: true, force: true });
});

async function start(name: string, ...args: string[]): Promise<Daemon> {
  const daemon = await startDaemon(name, [...args], join(folder, 'logs'));
  daemons.push(daemon);
  return daemon;
}

/** One scheduler with a journal, and two workers of two slots. */
async function cluster() {
  const central = await start('central', 'central', '--bind', 'tcp://127.0.0.1:0');
  const at = ['--central-url', central.endpoint];
  const scheduler = await start('s', 'scheduler', '--name', 's', ...at, '--data-folder', join(folder, 's'));
  const worker = (name: string) =>
    start(name, 'worker', '--name', name, '--slots', '2', ...at, '--data-folder', join(folder, name));
  await worker('one');
  await worker('two');
  const client = await connect(central.endpoint, { requestTimeoutMs: 60_000, renewMs: 500 });
  await expect.poll(async () => (await client.describe()).workers).toHaveLength(2);
  return { central, scheduler, client, worker };
}

const lines = (): string[] => {
  const file = join(folder, 'lines');
  return existsSync(file) ? readFileSync(file, 'utf8').trim().split('\n').sort() : [];
};

/** Each writes a line when it starts, and runs until it is told to end. */
const untilTold = {
  exec: ['sh', '-c', `echo $GOSHAWK_TASK >> lines; until [ -e go ]; do sleep 0.1; done`],
};

function passed(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

for (const judge of ['central', 'scheduler'] as const) {
  test(`when ${judge} is stopped for three leases and goes on, nobody healthy is lost and no task runs twice`, async () => {
    const { client, ...processes } = await cluster();
    await using _ = client;
    const job = await client.submit({ tasks: { count: 4, run: { ...untilTold, cwd: folder } } });
    await expect.poll(lines).toEqual(['0', '1', '2', '3']);
    const before = (await client.describe()).workers.map(({ address }) => address).sort();
    processes[judge].signal('SIGSTOP');
    await passed(3 * leaseMs);
    processes[judge].signal('SIGCONT');
    // So long that a lease that had ended would have been noticed.
    await passed(leaseMs);
    writeFileSync(join(folder, 'go'), '');
    expect(await job.wait()).toMatchObject({
      state: 'completed',
      attempts: { total: 4, lost: 0, failed: 0 },
    });
    expect(lines()).toEqual(['0', '1', '2', '3']);
    const { central } = await client.counters();
    expect(central).toMatchObject({ workersLost: 0 });
    expect((await client.describe()).workers.map(({ address }) => address).sort()).toEqual(before);
  });
}

test('what a worker ran that stood still until it was given up ends there when it goes on, and runs elsewhere or again', async () => {
  const { client } = await cluster();
  await using _ = client;
  const run = {
    exec: ['sh', '-c', 'echo $$ >> pids; echo $GOSHAWK_TASK >> lines; until [ -e go ]; do sleep 0.1; done'],
    cwd: folder,
  };
  const job = await client.submit({ tasks: { count: 4, run } });
  await expect.poll(lines).toEqual(['0', '1', '2', '3']);
  const running = (): number[] => {
    const pids = readFileSync(join(folder, 'pids'), 'utf8').trim().split('\n').map(Number);
    return pids.filter((pid) => existsSync(`/proc/${pid}`));
  };
  const worker = daemons.at(-1)!;
  worker.signal('SIGSTOP');
  await expect.poll(async () => (await job.describe()).attempts.lost).toBe(2);
  worker.signal('SIGCONT');
  await expect.poll(lines).toHaveLength(6);
  await expect.poll(running).toHaveLength(4);
  writeFileSync(join(folder, 'go'), '');
  expect(await job.wait()).toMatchObject({ state: 'completed', attempts: { total: 6, lost: 2, failed: 0 } });
  await expect.poll(running).toHaveLength(0);
});

test('a worker that is told to end finishes what runs, with more patience than a timer of Node can hold', async () => {
  const { central, client } = await cluster();
  await using _ = client;
  for (const daemon of daemons.splice(2)) await daemon.kill();
  const at = ['--central-url', central.endpoint, '--data-folder', join(folder, 'patient')];
  const patient = await start('patient', 'worker', '--name', 'patient', '--drain-timeout', '60d', ...at);
  const job = await client.submit({ tasks: [{ ...untilTold, cwd: folder }] });
  await expect.poll(lines).toEqual(['0']);
  patient.signal('SIGTERM');
  await passed(1_000);
  writeFileSync(join(folder, 'go'), '');
  expect(await patient.ended).toBe(0);
  expect((await job.wait()).state).toBe('completed');
  expect(lines()).toEqual(['0']);
});

test('a second worker of the same name is refused, and the first is unharmed', async () => {
  const { central, client } = await cluster();
  await using _ = client;
  const job = await client.submit({ tasks: { count: 4, run: { ...untilTold, cwd: folder } } });
  await expect.poll(lines).toEqual(['0', '1', '2', '3']);
  const at = ['--central-url', central.endpoint, '--data-folder', join(folder, 'another')];
  await start('second', 'worker', '--name', 'one', ...at);
  const log = join(folder, 'logs', 'second.log');
  await expect.poll(() => readFileSync(log, 'utf8')).toMatch(/another one has this name/);
  await passed(leaseMs);
  writeFileSync(join(folder, 'go'), '');
  expect(await job.wait()).toMatchObject({ state: 'completed', attempts: { total: 4, lost: 0 } });
  expect((await client.counters()).central).toMatchObject({ workersJoined: 2, workersLost: 0 });
});

test('what a worker ran that is killed and comes back under its name is started again at once', async () => {
  const { client, worker } = await cluster();
  await using _ = client;
  const job = await client.submit({ tasks: { count: 4, run: { ...untilTold, cwd: folder } } });
  await expect.poll(lines).toHaveLength(4);
  await daemons.at(-1)!.kill();
  await worker('two');
  writeFileSync(join(folder, 'go'), '');
  expect(await job.wait({ timeoutMs: 60_000 })).toMatchObject({
    state: 'completed',
    attempts: { total: 6, lost: 2, failed: 0 },
  });
});

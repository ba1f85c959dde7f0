import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { connect } from '@goshawk/client';
import { LIVE_TIMINGS } from '@goshawk/core';
import { expect, test } from 'vitest';
import { ANY_PORT } from '../daemons.js';
import { TestDaemons } from './test-daemons.fixture.js';

const { leaseMs } = LIVE_TIMINGS;

const daemons = new TestDaemons('stalls');

/** One scheduler with a journal, and two workers of two slots. */
async function cluster() {
  const central = await daemons.start('central', ['central', ...ANY_PORT]);
  const at = ['--central-url', central.endpoint];
  const scheduler = await daemons.start('s', [
    'scheduler',
    '--name',
    's',
    ...at,
    '--data-folder',
    join(daemons.folder, 's'),
  ]);
  const worker = (name: string) =>
    daemons.start(name, [
      'worker',
      '--name',
      name,
      '--slots',
      '2',
      ...at,
      '--data-folder',
      join(daemons.folder, name),
    ]);
  await worker('one');
  await worker('two');
  const client = await connect(central.endpoint, { requestTimeoutMs: 60_000, renewMs: 500 });
  await expect.poll(async () => (await client.describe()).workers).toHaveLength(2);
  return { central, scheduler, client, worker };
}

const lines = (): string[] => {
  const file = join(daemons.folder, 'lines');
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
    const job = await client.submit({ tasks: { count: 4, run: { ...untilTold, cwd: daemons.folder } } });
    await expect.poll(lines).toEqual(['0', '1', '2', '3']);
    const before = (await client.describe()).workers.map(({ address }) => address).sort();
    processes[judge].signal('SIGSTOP');
    await passed(3 * leaseMs);
    processes[judge].signal('SIGCONT');
    // So long that a lease that had ended would have been noticed.
    await passed(leaseMs);
    writeFileSync(join(daemons.folder, 'go'), '');
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
    cwd: daemons.folder,
  };
  const job = await client.submit({ tasks: { count: 4, run } });
  await expect.poll(lines).toEqual(['0', '1', '2', '3']);
  const running = (): number[] => {
    const pids = readFileSync(join(daemons.folder, 'pids'), 'utf8').trim().split('\n').map(Number);
    return pids.filter((pid) => existsSync(`/proc/${pid}`));
  };
  const worker = daemons.all.at(-1)!;
  worker.signal('SIGSTOP');
  await expect.poll(async () => (await job.describe()).attempts.lost).toBe(2);
  worker.signal('SIGCONT');
  await expect.poll(lines).toHaveLength(6);
  await expect.poll(running).toHaveLength(4);
  writeFileSync(join(daemons.folder, 'go'), '');
  expect(await job.wait()).toMatchObject({ state: 'completed', attempts: { total: 6, lost: 2, failed: 0 } });
  await expect.poll(running).toHaveLength(0);
});

test('a worker that is told to end finishes what runs, with more patience than a timer of Node can hold', async () => {
  const { central, client } = await cluster();
  await using _ = client;
  for (const daemon of daemons.all.splice(2)) await daemon.kill();
  const at = ['--central-url', central.endpoint, '--data-folder', join(daemons.folder, 'patient')];
  const patient = await daemons.start('patient', [
    'worker',
    '--name',
    'patient',
    '--drain-timeout',
    '60d',
    ...at,
  ]);
  const job = await client.submit({ tasks: [{ ...untilTold, cwd: daemons.folder }] });
  await expect.poll(lines).toEqual(['0']);
  patient.signal('SIGTERM');
  await passed(1_000);
  writeFileSync(join(daemons.folder, 'go'), '');
  expect(await patient.ended).toBe(0);
  expect((await job.wait()).state).toBe('completed');
  expect(lines()).toEqual(['0']);
});

test('a second worker of the same name is refused, and the first is unharmed', async () => {
  const { central, client } = await cluster();
  await using _ = client;
  const job = await client.submit({ tasks: { count: 4, run: { ...untilTold, cwd: daemons.folder } } });
  await expect.poll(lines).toEqual(['0', '1', '2', '3']);
  const at = ['--central-url', central.endpoint, '--data-folder', join(daemons.folder, 'another')];
  await daemons.start('second', ['worker', '--name', 'one', ...at]);
  const log = join(daemons.folder, 'logs', 'second.log');
  await expect.poll(() => readFileSync(log, 'utf8')).toMatch(/another one has this name/);
  await passed(leaseMs);
  writeFileSync(join(daemons.folder, 'go'), '');
  expect(await job.wait()).toMatchObject({ state: 'completed', attempts: { total: 4, lost: 0 } });
  expect((await client.counters()).central).toMatchObject({ workersJoined: 2, workersLost: 0 });
});

test('what a worker ran that is killed and comes back under its name is started again at once', async () => {
  const { client, worker } = await cluster();
  await using _ = client;
  const job = await client.submit({ tasks: { count: 4, run: { ...untilTold, cwd: daemons.folder } } });
  await expect.poll(lines).toHaveLength(4);
  await daemons.all.at(-1)!.kill();
  await worker('two');
  writeFileSync(join(daemons.folder, 'go'), '');
  expect(await job.wait({ timeoutMs: 60_000 })).toMatchObject({
    state: 'completed',
    attempts: { total: 6, lost: 2, failed: 0 },
  });
});

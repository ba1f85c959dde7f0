import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { TestDaemons } from '@goshawk/cli/testing';
import { LIVE_TIMINGS } from '@goshawk/core';
import { afterEach, beforeEach, expect, test } from 'vitest';

const { leaseMs } = LIVE_TIMINGS;

const daemons = new TestDaemons('stalls', { beforeEach, afterEach });

/** One scheduler with a journal, and two workers of two slots. */
async function cluster() {
  const central = await daemons.startCentral();
  const scheduler = await daemons.startScheduler('s');
  const worker = (name: string) => daemons.startWorker(name, ['--cpus', '2']);
  await worker('one');
  await worker('two');
  const client = await daemons.connect();
  await expect.poll(async () => (await client.describe()).workers).toHaveLength(2);
  return { central, scheduler, client, worker };
}

const lines = (): string[] => daemons.linesOf('lines');

function passed(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

for (const judge of ['central', 'scheduler'] as const) {
  test(`when ${judge} is stopped for three leases, no healthy process is lost and no task runs twice`, async () => {
    const { client, ...processes } = await cluster();
    await using _ = client;
    const job = await client.submit({ tasks: { count: 4, run: daemons.held } });
    await expect.poll(lines).toEqual(['0', '1', '2', '3']);
    const before = (await client.describe()).workers.map(({ address }) => address).sort();
    processes[judge].signal('SIGSTOP');
    await passed(3 * leaseMs);
    processes[judge].signal('SIGCONT');
    // Long enough to detect an expired lease.
    await passed(leaseMs);
    daemons.letGo();
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

test('tasks of a worker suspended beyond its lease are killed when it continues, and run again', async () => {
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
  daemons.letGo();
  expect(await job.wait()).toMatchObject({ state: 'completed', attempts: { total: 6, lost: 2, failed: 0 } });
  await expect.poll(running).toHaveLength(0);
});

test('a stopping worker finishes running tasks, even with a limit beyond the range of timers of Node', async () => {
  const { client } = await cluster();
  await using _ = client;
  for (const daemon of daemons.all.splice(2)) await daemon.kill();
  const patient = await daemons.startWorker('patient', ['--drain-timeout', '60d']);
  const job = await client.submit({ tasks: [daemons.held] });
  await expect.poll(lines).toEqual(['0']);
  patient.signal('SIGTERM');
  await passed(1_000);
  daemons.letGo();
  expect(await patient.ended).toBe(0);
  expect((await job.wait()).state).toBe('completed');
  expect(lines()).toEqual(['0']);
});

test('a second worker of the same name is refused, and the first is unharmed', async () => {
  const { client } = await cluster();
  await using _ = client;
  const job = await client.submit({ tasks: { count: 4, run: daemons.held } });
  await expect.poll(lines).toEqual(['0', '1', '2', '3']);
  const another = ['--central-url', daemons.url, '--data-folder', join(daemons.folder, 'another')];
  await daemons.start('second', ['worker', '--name', 'one', ...another]);
  await expect.poll(() => daemons.logOf('second')).toMatch(/another process uses this name/);
  await passed(leaseMs);
  daemons.letGo();
  expect(await job.wait()).toMatchObject({ state: 'completed', attempts: { total: 4, lost: 0 } });
  expect((await client.counters()).central).toMatchObject({ workersJoined: 2, workersLost: 0 });
});

test('tasks of a killed worker that returns under its name are restarted at once', async () => {
  const { client, worker } = await cluster();
  await using _ = client;
  const job = await client.submit({ tasks: { count: 4, run: daemons.held } });
  await expect.poll(lines).toHaveLength(4);
  await daemons.all.at(-1)!.kill();
  await worker('two');
  daemons.letGo();
  expect(await job.wait({ timeoutMs: 60_000 })).toMatchObject({
    state: 'completed',
    attempts: { total: 6, lost: 2, failed: 0 },
  });
});

import { cpSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { TestDaemons } from '@goshawk/cli/testing';
import type { Cluster } from '@goshawk/client';
import { afterEach, beforeEach, expect, onTestFinished, test } from 'vitest';

const daemons = new TestDaemons('copies', { beforeEach, afterEach });

const POLL = { timeout: 60_000, interval: 200 } as const;

/** Copies the data folder of a scheduler, as `cp -a` does. */
function copyFolder(from: string, to: string): void {
  const folder = join(daemons.folder, to);
  const isSocket = (path: string): boolean => path.includes('.sock');
  cpSync(join(daemons.folder, from), folder, {
    recursive: true,
    preserveTimestamps: true,
    filter: (path) => !isSocket(path),
  });
  for (const name of readdirSync(folder)) if (isSocket(name)) rmSync(join(folder, name));
}

/** Starts a scheduler that need not join. */
function startElsewhere(name: string, folder: string) {
  return daemons.start(name, [
    'scheduler',
    '--name',
    name,
    '--bind',
    'tcp://127.0.0.1:0',
    '--central-url',
    daemons.url,
    '--data-folder',
    join(daemons.folder, folder),
  ]);
}

const said = (name: string, text: string) => () => daemons.logOf(name).includes(text);

/** Submits a task that writes a line to `lines`. */
const submitLine = (client: Cluster, line: string) =>
  client.submit({ tasks: [{ exec: ['sh', '-c', `echo ${line} >> lines`], cwd: daemons.folder }] });

async function connected(): Promise<Cluster> {
  const client = await daemons.connect();
  onTestFinished(() => client.close());
  return client;
}

test('a copy of a running scheduler never takes its place, however long the original is silent', async () => {
  await daemons.startCentral();
  const original = await daemons.startScheduler('s0', []);
  await daemons.startWorker('w0', ['--cpus', '4']);
  const client = await connected();
  const held = await client.submit({ tasks: [daemons.held] });
  await expect.poll(() => daemons.linesOf('lines'), POLL).toEqual(['0']);
  const before = await submitLine(client, 'since');
  copyFolder('s0', 'copy');
  await before.wait();
  const copy = await startElsewhere('s7', 'copy');
  await expect.poll(said('s7', 'goshawk takeover s7'), POLL).toBe(true);
  await expect(client.takeOverFrom('s0')).rejects.toMatchObject({ code: 'not-shared' });
  for (let stall = 0; stall < 2; stall++) {
    const known = daemons.logOf('central').split('lost').length;
    original.signal('SIGSTOP');
    // Longer than a lease: central counts it as lost.
    await expect.poll(() => daemons.logOf('central').split('lost').length, POLL).toBeGreaterThan(known);
    original.signal('SIGCONT');
    expect(await (await submitLine(client, `after ${stall}`)).wait()).toMatchObject({ state: 'completed' });
  }
  expect(daemons.logOf('s7')).not.toContain('scheduler has joined');
  daemons.letGo();
  expect(await held.wait()).toMatchObject({ state: 'completed', attempts: { total: 1 } });
  expect(daemons.linesOf('lines')).toEqual(['0', 'after 0', 'after 1', 'since']);
  copy.signal('SIGTERM');
  await copy.ended;
});

test('an operator lets a copy continue when the original is gone, and the original is then refused', async () => {
  await daemons.startCentral();
  const original = await daemons.startScheduler('s0', []);
  await daemons.startWorker('w0', ['--cpus', '4']);
  const client = await connected();
  const held = await client.submit({ tasks: [daemons.held] });
  await expect.poll(() => daemons.linesOf('lines'), POLL).toEqual(['0']);
  // Central has heard of the job.
  await expect
    .poll(async () => (await client.describe()).schedulers.find(({ name }) => name === 's0')?.jobs, POLL)
    .toBe(1);
  await original.kill();
  copyFolder('s0', 'copy');
  await startElsewhere('s0b', 'copy');
  await expect.poll(said('s0b', 'goshawk takeover s0b'), POLL).toBe(true);
  await expect.poll(() => client.takeOverFrom('s0').catch(() => undefined), POLL).toMatchObject({ jobs: 1 });
  await expect.poll(said('s0b', 'scheduler has joined'), POLL).toBe(true);
  daemons.letGo();
  expect(await held.wait()).toMatchObject({ state: 'completed', attempts: { total: 1 } });
  const late = await startElsewhere('s0c', 's0');
  await late.ended;
  expect(daemons.logOf('s0c')).toContain('another scheduler has taken over');
});

test('a scheduler that was stopped moves to a copy of its folder without an operator', async () => {
  await daemons.startCentral();
  const original = await daemons.startScheduler('s0', ['--drain-timeout', '100ms']);
  await daemons.startWorker('w0', ['--cpus', '4']);
  const client = await connected();
  const held = await client.submit({ tasks: [daemons.held] });
  await expect.poll(() => daemons.linesOf('lines'), POLL).toEqual(['0']);
  original.signal('SIGTERM');
  await original.ended;
  copyFolder('s0', 'moved');
  await startElsewhere('s0', 'moved');
  daemons.letGo();
  expect(await held.wait()).toMatchObject({ state: 'completed', attempts: { total: 1 } });
});

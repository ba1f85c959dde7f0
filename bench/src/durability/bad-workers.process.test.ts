import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect } from '@goshawk/client';
import { LIMITS } from '@goshawk/core';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { type Daemon, startDaemon } from '../daemons.js';

let folder: string;
const daemons: Daemon[] = [];
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'goshawk-bad-workers-'));
});
afterEach(async () => {
  for (const daemon of daemons.splice(0).reverse()) await daemon.kill();
  rmSync(folder, { recursive: true, force: true });
});

async function start(name: string, args: readonly string[], environment = process.env): Promise<Daemon> {
  const daemon = await startDaemon(name, args, join(folder, 'logs'), environment);
  daemons.push(daemon);
  return daemon;
}

/** A cluster without workers. */
async function cluster(): Promise<{ url: string; scheduler: () => Promise<Daemon> }> {
  const { endpoint: url } = await start('central', ['central', '--bind', 'tcp://127.0.0.1:0']);
  const at = ['--central-url', url, '--data-folder', join(folder, 's')];
  return { url, scheduler: () => start('s', ['scheduler', '--name', 's', ...at]) };
}

function worker(url: string, name: string, path = process.env.PATH): Promise<Daemon> {
  const at = ['--central-url', url, '--data-folder', join(folder, name)];
  return start(name, ['worker', '--name', name, ...at], { ...process.env, PATH: path });
}

test('a worker that fails what others complete is quarantined, and no job fails for it', async () => {
  const bin = join(folder, 'bin');
  mkdirSync(bin);
  writeFileSync(join(bin, 'the-tool'), '#!/bin/sh\nsleep 0.02\n');
  chmodSync(join(bin, 'the-tool'), 0o755);
  const { url, scheduler } = await cluster();
  await scheduler();
  await worker(url, 'bad', '/usr/bin:/bin');
  for (const name of ['good', 'better']) await worker(url, name, `${bin}:/usr/bin:/bin`);
  await using client = await connect(url);
  await expect.poll(async () => (await client.describe()).workers).toHaveLength(3);
  const job = await client.submit({ tasks: { count: 600, run: { exec: ['the-tool'] } } });
  const quarantined = async () =>
    (await client.describe()).workers
      .filter(({ state }) => state === 'quarantined')
      .map(({ name, quarantine }) => `${name}: ${quarantine}`);
  await expect
    .poll(quarantined)
    .toEqual([expect.stringMatching(/^bad: tasks of .* fail here and complete elsewhere/)]);
  expect((await job.wait()).state).toBe('completed');
  const nowhere = await Promise.all(
    Array.from({ length: 10 }, () => client.submit({ tasks: [{ exec: ['no-tool'] }] })),
  );
  const other = await client.submit({ tasks: [{ exec: ['the-tool'] }] });
  expect((await other.wait()).state).toBe('completed');
  for (const job of nowhere)
    expect(await job.wait()).toMatchObject({ state: 'failed', failures: [{ code: 'command-not-found' }] });
});

test('a task that kills worker after worker fails, others complete, and a restart forgets none of it', async () => {
  const { url, scheduler } = await cluster();
  const first = await scheduler();
  const starts = join(folder, 'starts');
  let isOver = false;
  const keepUp = async (name: string): Promise<void> => {
    while (!isOver) {
      const one = await worker(url, name);
      if (isOver) await one.kill();
      await one.ended;
    }
  };
  const up = [keepUp('one'), keepUp('two')];
  await using client = await connect(url, { requestTimeoutMs: 60_000, renewMs: 500 });
  // The parent of a task starts commands for the worker, which is that one's parent.
  const poison = `echo start >> ${starts}; kill -9 $(ps -o ppid= -p $PPID)`;
  const deadly = await client.submit({ tasks: [{ exec: ['sh', '-c', poison] }] });
  const harmless = await client.submit({ tasks: { count: 10, run: { sleep: 50 } } });
  await expect.poll(() => linesOf(starts)).toBeGreaterThanOrEqual(3);
  await first.kill();
  await scheduler();
  expect(await deadly.wait()).toMatchObject({ state: 'failed', failures: [{ kind: 'lost' }] });
  expect((await harmless.wait()).state).toBe('completed');
  expect(linesOf(starts)).toBeLessThanOrEqual(LIMITS.lossesPerTaskMax + 1);
  isOver = true;
  for (const daemon of daemons) await daemon.kill();
  await Promise.all(up);
});

function linesOf(file: string): number {
  return existsSync(file) ? readFileSync(file, 'utf8').split('\n').length - 1 : 0;
}

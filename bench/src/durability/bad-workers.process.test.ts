import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { connect } from '@goshawk/client';
import { LIMITS } from '@goshawk/core';
import { expect, test } from 'vitest';
import { ANY_PORT, type Daemon } from '../daemons.js';
import { TestDaemons } from './test-daemons.fixture.js';

const daemons = new TestDaemons('bad-workers');

/** A cluster without workers. */
async function cluster(): Promise<{ url: string; scheduler: () => Promise<Daemon> }> {
  const { endpoint: url } = await daemons.start('central', ['central', ...ANY_PORT]);
  const at = ['--central-url', url, '--data-folder', join(daemons.folder, 's')];
  return { url, scheduler: () => daemons.start('s', ['scheduler', '--name', 's', ...at]) };
}

function worker(url: string, name: string, path = process.env.PATH): Promise<Daemon> {
  const at = ['--central-url', url, '--data-folder', join(daemons.folder, name)];
  return daemons.start(name, ['worker', '--name', name, ...at], { ...process.env, PATH: path });
}

test('a worker that fails what others complete is quarantined, and no job fails for it', async () => {
  const bin = join(daemons.folder, 'bin');
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
  const starts = join(daemons.folder, 'starts');
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
  for (const daemon of daemons.all) await daemon.kill();
  await Promise.all(up);
});

function linesOf(file: string): number {
  return existsSync(file) ? readFileSync(file, 'utf8').split('\n').length - 1 : 0;
}

import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Daemon, TestDaemons } from '@goshawk/cli/testing';
import { LIMITS } from '@goshawk/core';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { keepUp } from './keep-up.fixture.js';

const daemons = new TestDaemons('bad-workers', { beforeEach, afterEach });

function worker(name: string, path: string): Promise<Daemon> {
  return daemons.startWorker(name, [], { PATH: path });
}

test('a worker that fails tasks that others complete is quarantined, and no job fails because of it', async () => {
  const bin = join(daemons.folder, 'bin');
  mkdirSync(bin);
  writeFileSync(join(bin, 'the-tool'), '#!/bin/sh\nsleep 0.02\n');
  chmodSync(join(bin, 'the-tool'), 0o755);
  await daemons.startCentral();
  await daemons.startScheduler('s');
  await worker('bad', '/usr/bin:/bin');
  for (const name of ['good', 'better']) await worker(name, `${bin}:/usr/bin:/bin`);
  await using client = await daemons.connect();
  await expect.poll(async () => (await client.describe()).workers).toHaveLength(3);
  const job = await client.submit({ tasks: { count: 600, run: { exec: ['the-tool'] } } });
  const quarantined = async () =>
    (await client.describe()).workers
      .filter(({ state }) => state === 'quarantined')
      .map(({ name, quarantine }) => `${name}: ${quarantine}`);
  await expect
    .poll(quarantined)
    .toEqual([expect.stringMatching(/^bad: tasks of .* fail here but complete elsewhere/)]);
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
  await daemons.startCentral();
  const first = await daemons.startScheduler('s');
  const workers = keepUp(daemons, ['one', 'two']);
  await using client = await daemons.connect();
  // The parent of a task is the worker's spawner, and the spawner's parent is the worker.
  const poison = `echo start >> starts; kill -9 $(ps -o ppid= -p $PPID)`;
  const deadly = await client.submit({ tasks: [{ exec: ['sh', '-c', poison], cwd: daemons.folder }] });
  const harmless = await client.submit({ tasks: { count: 10, run: { sleep: 50 } } });
  await expect.poll(() => daemons.linesOf('starts').length).toBeGreaterThanOrEqual(3);
  await first.kill();
  await daemons.startScheduler('s');
  expect(await deadly.wait()).toMatchObject({ state: 'failed', failures: [{ kind: 'lost' }] });
  expect((await harmless.wait()).state).toBe('completed');
  expect(daemons.linesOf('starts').length).toBeLessThanOrEqual(LIMITS.lossesPerTaskMax + 1);
  await workers.stop();
});

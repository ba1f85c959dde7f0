import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { connect } from '@goshawk/client';
import { beforeEach, describe, expect, test } from 'vitest';
import { Cluster } from './cluster.js';
import { killAfterAnswer } from './kill-after-answer.js';
import { oneKeyTwoClients } from './one-key.js';
import { TestDaemons } from './test-daemons.fixture.js';

const daemons = new TestDaemons('durability');
let cluster: Cluster;
beforeEach(async () => {
  cluster = await Cluster.start(daemons);
});

describe('durable jobs', () => {
  test('survive a scheduler that is killed right after the answer, each time', async () => {
    const report = await killAfterAnswer(cluster, 6);
    expect(report).toMatchObject({ lost: [], doubled: [], completed: report.accepted });
    expect(report.accepted).toBeGreaterThanOrEqual(6);
  });

  test('of two clients that submit one key at once both get the same job', async () => {
    await cluster.startScheduler('one');
    await cluster.startScheduler('two');
    expect(await oneKeyTwoClients(cluster, 25)).toEqual({ keys: 25, doubled: [] });
  });

  test('a wait that began before the scheduler died ends with the job', async () => {
    const scheduler = await cluster.startScheduler('durable');
    await using client = await connect(cluster.url, { renewMs: 500, requestTimeoutMs: 60_000 });
    const job = await client.submit({ tasks: { count: 8, run: { sleep: 300 } } });
    const ended = job.wait();
    await scheduler.kill();
    await cluster.startScheduler('durable');
    expect((await ended).state).toBe('completed');
  });

  test('what runs when its scheduler dies runs on, also to its end, and is not run again', async () => {
    const scheduler = await cluster.startScheduler('durable');
    await using client = await connect(cluster.url, { renewMs: 500, requestTimeoutMs: 60_000 });
    const lines = join(daemons.folder, 'lines');
    const done = join(daemons.folder, 'done');
    const untilThereIs = (file: string) => {
      const script = `echo $GOSHAWK_TASK >> ${lines}; until [ -e ${file} ]; do sleep 0.1; done`;
      return { exec: ['sh', '-c', `${script}; echo $GOSHAWK_TASK >> ${done}`] };
    };
    const [away, back] = [join(daemons.folder, 'away'), join(daemons.folder, 'back')];
    // Two that end while their scheduler is away, and two that run until it is back.
    const job = await client.submit({ tasks: [away, away, back, back].map(untilThereIs) });
    await expect.poll(() => linesOf(lines)).toEqual(['0', '1', '2', '3']);
    await scheduler.kill();
    const ended = job.wait();
    writeFileSync(away, '');
    await expect.poll(() => linesOf(done)).toEqual(['0', '1']);
    await cluster.startScheduler('durable');
    await expect.poll(async () => (await job.describe()).tasks).toMatchObject({ completed: 2, running: 2 });
    writeFileSync(back, '');
    expect((await ended).state).toBe('completed');
    expect(linesOf(lines)).toEqual(['0', '1', '2', '3']);
  });

  test('a cancellation that was confirmed holds after a crash', async () => {
    const scheduler = await cluster.startScheduler('durable');
    await using client = await connect(cluster.url, { requestTimeoutMs: 60_000 });
    const job = await client.submit({ tasks: { count: 40, run: { sleep: 60_000 } } });
    await job.cancel();
    await scheduler.kill();
    await cluster.startScheduler('durable');
    expect((await job.wait()).state).toBe('cancelled');
  });

  test('results are there after a crash', async () => {
    const scheduler = await cluster.startScheduler('durable');
    await using client = await connect(cluster.url, { requestTimeoutMs: 60_000 });
    const job = await client.submit<number>({
      tasks: [1, 2, 3].map((input) => ({ module: new URL('./square.fixture.js', DIST).pathname, input })),
    });
    expect(await job.result()).toEqual([1, 4, 9]);
    await scheduler.kill();
    await cluster.startScheduler('durable');
    expect(await job.result()).toEqual([1, 4, 9]);
  });

  test('a second scheduler on the same folder is refused with a clear line', async () => {
    await cluster.startScheduler('durable');
    await expect(cluster.startScheduler('durable')).rejects.toThrow(/did not start/);
  });
});

function linesOf(file: string): string[] {
  return existsSync(file) ? readFileSync(file, 'utf8').trim().split('\n').sort() : [];
}

const DIST = new URL('../../dist/durability/', import.meta.url);

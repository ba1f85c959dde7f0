import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { TestDaemons } from '@goshawk/cli/testing';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { killAfterAnswer } from './kill-after-answer.js';
import { oneKeyTwoClients } from './one-key.js';

const daemons = new TestDaemons('durability', { beforeEach, afterEach });
beforeEach(() => daemons.startCentralAndWorkers());

describe('durable jobs', () => {
  test('survive a scheduler that is killed right after the answer, each time', async () => {
    const report = await killAfterAnswer(daemons, 6);
    expect(report).toMatchObject({ lost: [], doubled: [], completed: report.accepted });
    expect(report.accepted).toBeGreaterThanOrEqual(6);
  });

  test('two clients that submit the same key at once get the same job', async () => {
    await daemons.startScheduler('one');
    await daemons.startScheduler('two');
    expect(await oneKeyTwoClients(daemons, 25)).toEqual({ keys: 25, doubled: [] });
  });

  test('a wait that began before the scheduler died ends with the job', async () => {
    const scheduler = await daemons.startScheduler('durable');
    await using client = await daemons.connect();
    const job = await client.submit({ tasks: { count: 8, run: { sleep: 300 } } });
    const ended = job.wait();
    await scheduler.kill();
    await daemons.startScheduler('durable');
    expect((await ended).state).toBe('completed');
  });

  test('tasks continue when their scheduler dies, even to their end, and are not run again', async () => {
    const scheduler = await daemons.startScheduler('durable');
    await using client = await daemons.connect();
    const untilThereIs = (file: string) => {
      const script = `echo $GOSHAWK_TASK >> lines; until [ -e ${file} ]; do sleep 0.1; done`;
      return {
        exec: ['sh', '-c', `${script}; echo $GOSHAWK_TASK >> done`],
        cwd: daemons.folder,
      };
    };
    // Two jobs end while their scheduler is down, and two run until it is back.
    const job = await client.submit({ tasks: ['away', 'away', 'back', 'back'].map(untilThereIs) });
    await expect.poll(() => daemons.linesOf('lines')).toEqual(['0', '1', '2', '3']);
    await scheduler.kill();
    const ended = job.wait();
    writeFileSync(join(daemons.folder, 'away'), '');
    await expect.poll(() => daemons.linesOf('done')).toEqual(['0', '1']);
    await daemons.startScheduler('durable');
    await expect.poll(async () => (await job.describe()).tasks).toMatchObject({ completed: 2, running: 2 });
    writeFileSync(join(daemons.folder, 'back'), '');
    expect((await ended).state).toBe('completed');
    expect(daemons.linesOf('lines')).toEqual(['0', '1', '2', '3']);
  });

  test('a cancellation that was confirmed holds after a crash', async () => {
    const scheduler = await daemons.startScheduler('durable');
    await using client = await daemons.connect();
    const job = await client.submit({ tasks: { count: 40, run: { sleep: 60_000 } } });
    await job.cancel();
    await scheduler.kill();
    await daemons.startScheduler('durable');
    expect((await job.wait()).state).toBe('cancelled');
  });

  test('results are available after a crash', async () => {
    const scheduler = await daemons.startScheduler('durable');
    await using client = await daemons.connect();
    const job = await client.submit<number>({
      tasks: [1, 2, 3].map((input) => ({ module: new URL('./square.fixture.js', DIST).pathname, input })),
    });
    expect(await job.result()).toEqual([1, 4, 9]);
    await scheduler.kill();
    await daemons.startScheduler('durable');
    expect(await job.result()).toEqual([1, 4, 9]);
  });

  test('a second scheduler on the same folder is refused with a clear line', async () => {
    await daemons.startScheduler('durable');
    await expect(daemons.startScheduler('durable')).rejects.toThrow(/did not start/);
  });
});

const DIST = new URL('../../dist/durability/', import.meta.url);

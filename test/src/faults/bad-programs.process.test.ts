import { TestDaemons } from '@goshawk/cli/testing';
import type { Cluster } from '@goshawk/client';
import { nearestRank } from '@goshawk/core';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { keepUp } from './keep-up.fixture.js';

const WORKERS = 6;
const SLOTS = ['--cpus', '2'];
const OTHERS_RUN_MS = 500;

const daemons = new TestDaemons('bad-programs', { beforeEach, afterEach });

async function clusterOf(workers: number) {
  await daemons.startCentral();
  await daemons.startScheduler('s');
  for (let i = 0; i < workers; i++) await daemons.startWorker(`w${i}`, SLOTS);
  const client = await daemons.connect();
  await expect.poll(async () => (await client.describe()).workers).toHaveLength(workers);
  return client;
}

/** Submits half a second of another user's work and returns the time until its end, in ms. */
async function othersWait(client: Cluster): Promise<number> {
  const at = performance.now();
  const job = await client.submit({ user: 'other', tasks: [{ sleep: OTHERS_RUN_MS }] });
  expect((await job.wait()).state).toBe('completed');
  return performance.now() - at;
}

const medianOf = (values: readonly number[]): number => nearestRank(Float64Array.from(values).sort(), 50);

test('600 tasks of a program that does not exist cost others nothing', async () => {
  await using client = await clusterOf(WORKERS);
  const alone: number[] = [];
  const beside: number[] = [];
  for (let round = 0; round < 5; round++) {
    alone.push(await othersWait(client));
    const typo = await client.submit({
      user: 'typist',
      retries: 2,
      tasks: { count: 600, run: { exec: ['no-such-program'] } },
    });
    beside.push(await othersWait(client));
    expect(await typo.wait()).toMatchObject({ state: 'failed' });
  }
  // Other load on the machine slows all measurements.
  const stretch = Math.max(1, medianOf(alone) / OTHERS_RUN_MS);
  expect(medianOf(beside) - medianOf(alone), `${alone} ms alone, ${beside} beside`).toBeLessThan(
    1_000 * stretch,
  );
});

test('a job of 1,000 tasks that kill their workers is given up after a few, and other jobs continue', async () => {
  await using client = await clusterOf(0);
  const workers = keepUp(daemons, ['w0', 'w1', 'w2', 'w3', 'w4', 'w5'], SLOTS);
  await expect.poll(async () => (await client.describe()).workers).toHaveLength(WORKERS);
  const alone = medianOf([await othersWait(client), await othersWait(client), await othersWait(client)]);
  // The parent of a task is the worker's spawner, and the spawner's parent is the worker.
  const poison = 'kill -9 $(ps -o ppid= -p $PPID)';
  const deadly = await client.submit({
    user: 'poisoner',
    tasks: { count: 1_000, run: { exec: ['sh', '-c', poison] } },
  });
  const waits: number[] = [];
  let isOver = false;
  const ending = deadly.wait().finally(() => {
    isOver = true;
  });
  while (!isOver) waits.push(await othersWait(client));
  expect(await ending).toMatchObject({ state: 'failed' });
  const stretch = Math.max(1, alone / OTHERS_RUN_MS);
  expect(workers.lost()).toBeLessThanOrEqual(16);
  expect(workers.lost()).toBeGreaterThan(0);
  expect(Math.max(...waits), `${waits} ms, ${alone} alone`).toBeLessThan(10_000 * stretch + alone);
  await workers.stop();
});

import { TestDaemons } from '@goshawk/cli/testing';
import type { JobHandle } from '@goshawk/client';
import { afterEach, beforeEach, expect, test } from 'vitest';

const PROCESSES = 2;
const WORKERS = 20;
const SLOTS = 200;
/** Time after the last registration within which the new central knows all running tasks, in ms. */
const KNOWN_WITHIN_MS = 5_000;

const daemons = new TestDaemons('central', { beforeEach, afterEach });

const POLICY = ['--policy', 'goshawk', '--estimator', 'given', '--cutoff', '1', '--reserve', '0'];

const marks = (): string[] => daemons.linesOf('marks');

/** Each task writes a line when it starts, and runs until `letGo`. */
function tasksOf(name: string, count: number) {
  const script = `echo ${name}.$GOSHAWK_TASK >> marks; until [ -e go ]; do sleep 1; done`;
  return { count, run: { exec: ['sh', '-c', script], cwd: daemons.folder } };
}

test('a central that is killed under load recovers the books of its predecessor from its workers, and nothing starts twice', async () => {
  const central = await daemons.startCentral(POLICY);
  await daemons.startScheduler('s');
  const workers = { workers: WORKERS, workersPerProcess: WORKERS / PROCESSES };
  await daemons.startWorkers(workers, ['--cpus', `${SLOTS / WORKERS}`]);
  await using client = await daemons.connect();
  await expect.poll(async () => (await client.describe()).workers).toHaveLength(WORKERS);

  const long = await client.submit({ name: 'long', estimate: '60s', tasks: tasksOf('long', 150) });
  const short = await client.submit({ name: 'short', estimate: '500ms', tasks: tasksOf('short', 50) });
  await expect.poll(() => marks().length).toBe(SLOTS);
  // The later job has less work, so it would run first if both had arrived at the same time.
  const first = await client.submit({ name: 'first', estimate: '60s', tasks: tasksOf('first', 20) });
  await new Promise((resolve) => setTimeout(resolve, 3_000));
  const second = await client.submit({ name: 'second', estimate: '59.8s', tasks: tasksOf('second', 20) });

  const waitsFor = async (job: JobHandle) => (await job.explain()).central?.needs[0]?.ahead;
  const books = async () => {
    const { central: line } = await first.explain();
    const { slots, freeSlots, longRunning } = line ?? {};
    const { unmatched } = line ?? {};
    return { slots, freeSlots, longRunning, unmatched };
  };
  const wanted = { slots: SLOTS, freeSlots: 0, longRunning: 150, unmatched: 40 };
  await expect.poll(books).toEqual(wanted);
  const order = [await waitsFor(first), await waitsFor(second)];
  expect(order).toMatchObject([
    { jobs: 0, tasks: 0 },
    { jobs: 1, tasks: 20 },
  ]);

  await central.kill();
  await daemons.startCentral(POLICY);
  const isBack = async () => (await client.describe().catch(() => undefined))?.workers.length;
  await expect.poll(isBack, { interval: 20 }).toBe(WORKERS);
  const joinedAt = performance.now();
  await expect.poll(books, { interval: 20 }).toEqual(wanted);
  const knownMs = performance.now() - joinedAt;
  expect([await waitsFor(first), await waitsFor(second)]).toEqual(order);
  console.info(`books are equal ${Math.round(knownMs)} ms after the last registration`);
  expect(knownMs).toBeLessThan(KNOWN_WITHIN_MS);

  daemons.letGo();
  for (const job of [long, short, first, second])
    expect(await job.wait()).toMatchObject({ state: 'completed', attempts: { lost: 0, failed: 0 } });
  const all = marks();
  expect(new Set(all).size).toBe(all.length);
  expect(all).toHaveLength(SLOTS + 40);
});

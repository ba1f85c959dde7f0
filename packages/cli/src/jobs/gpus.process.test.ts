import { connect } from '@goshawk/client';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { TestCluster } from '../test-cluster.fixture.js';

let up: TestCluster;

beforeAll(async () => {
  up = await TestCluster.start([
    '--workers',
    '1',
    '--slots',
    '6',
    '--schedulers',
    '1',
    '--resources',
    'cpu=8,gpu=4',
  ]);
});

afterAll(async () => {
  await up.stop();
});

it('tasks that run together have GPUs of their own, those that ask for none see none, and a killed task frees its own', async () => {
  await using cluster = await connect(up.url);
  const print = ['sh', '-c', 'echo "$CUDA_VISIBLE_DEVICES/$GOSHAWK_GPUS"; exec sleep 1000'];
  const submit = (count: number, demand: Record<string, number>) =>
    cluster.submit({ demand, tasks: { count, run: { exec: print } } });
  /** What each of its tasks has printed, once all have. */
  const printed = async (job: Awaited<ReturnType<typeof submit>>, tasks: number): Promise<string[]> => {
    let lines: string[] = [];
    await expect
      .poll(
        async () => {
          lines = (await up.goshawk(['logs', job.id])).stdout.trim().split('\n');
          return lines.length === tasks && lines[0] !== '';
        },
        { timeout: 60_000 },
      )
      .toBe(true);
    return lines.map((line) => line.split(/\s+/).at(-1)!).sort();
  };
  const pair = await submit(1, { gpu: 2 });
  expect(await printed(pair, 1)).toEqual(['0,1/0,1']);
  const singles = await submit(2, { gpu: 1 });
  expect(await printed(singles, 2)).toEqual(['2/2', '3/3']);
  expect(await printed(await submit(1, {}), 1)).toEqual(['/']);
  const next = await submit(2, { gpu: 1 });
  await pair.cancel();
  expect(await printed(next, 2)).toEqual(['0/0', '1/1']);
  // A cluster that is stopped first lets end what runs.
  await Promise.all((await cluster.jobs()).jobs.map(({ id }) => cluster.job(id).cancel()));
});

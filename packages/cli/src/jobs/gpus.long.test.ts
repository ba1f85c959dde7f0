import { connect } from '@goshawk/client';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { TestCluster } from '../test-cluster.fixture.js';

let up: TestCluster;

/** Returns the worker and GPUs of each attempt from `goshawk job`. */
async function attemptsOf(id: string): Promise<{ worker: string; gpus: string[]; state: string }[]> {
  return JSON.parse((await up.goshawk(['job', id, '--json'])).stdout).attempts;
}

beforeAll(async () => {
  up = await TestCluster.start([
    '--workers',
    '1',
    '--cpus',
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

it('a job shows the GPUs of its attempts, even after a restart of its scheduler', async () => {
  await using cluster = await connect(up.url);
  const good = await cluster.submit({ demand: { gpu: 2 }, tasks: [{ exec: ['true'] }] });
  const bad = await cluster.submit({ demand: { gpu: 1 }, tasks: [{ exec: ['false'] }] });
  const none = await cluster.submit({ tasks: [{ exec: ['true'] }] });
  for (const job of [good, bad, none]) await job.wait();
  const check = async () => {
    expect(await attemptsOf(good.id)).toMatchObject([{ state: 'completed', gpus: ['0', '1'] }]);
    const [failed] = await attemptsOf(bad.id);
    expect(failed).toMatchObject({ state: 'failed', gpus: [expect.stringMatching(/^[0-3]$/)] });
    expect(await attemptsOf(none.id)).toMatchObject([{ gpus: [] }]);
    const { worker } = failed!;
    expect((await up.goshawk(['job', good.id])).stdout).toMatch(
      new RegExp(`gpus +task 0: 0, 1 on ${worker}`),
    );
    expect((await up.goshawk(['job', none.id])).stdout).not.toContain('gpus');
  };
  await check();
  const scheduler = up.children().find(({ command }) => command.includes('goshawk.js scheduler'))!;
  process.kill(scheduler.pid, 'SIGKILL');
  await expect.poll(async () => (await up.goshawk(['job', good.id])).exitCode, { timeout: 60_000 }).toBe(0);
  await check();
});

it('concurrent tasks have separate GPUs, tasks without GPUs see none, and a killed task frees its GPUs', async () => {
  await using cluster = await connect(up.url);
  const print = ['sh', '-c', 'echo "$CUDA_VISIBLE_DEVICES/$GOSHAWK_GPUS"; exec sleep 1000'];
  const submit = (count: number, demand: Record<string, number>) =>
    cluster.submit({ demand, tasks: { count, run: { exec: print } } });
  /** Returns each task's output once all have ended. */
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
  await Promise.all((await cluster.jobs()).jobs.map(({ id }) => cluster.job(id).cancel()));
  const fractions = await submit(4, { gpu: 0.6 });
  expect(await printed(fractions, 4)).toEqual(['0/0', '1/1', '2/2', '3/3']);
  await fractions.cancel();
  // Stopping the cluster would wait for running jobs, so they are cancelled first.
  await Promise.all((await cluster.jobs()).jobs.map(({ id }) => cluster.job(id).cancel()));
});

import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Cluster, connect, type JobHandle, type JobSubmission, type TaskResult } from '@goshawk/client';
import { isPostgresThere, PostgresServer } from '@goshawk/journal/testing';
import { describe, expect, test } from 'vitest';
import { until } from '../daemons.js';
import { SharedCluster } from './cluster.js';

const MODULE = `import { existsSync, writeFileSync } from 'node:fs';
export const square = (n) => n * n;
export const sum = (_, context) => context.results('extract').reduce((sum, each) => sum + each, 0);
export const once = ({ n, folder }) => {
  const file = folder + '/call-' + n;
  if (existsSync(file)) throw new Error(n + ' was called before');
  writeFileSync(file, '');
  if (n % 10 === 7) throw new Error(n + ' is unlucky');
  return n;
};
`;

/** Submits until the scheduler of this tag is the owner. */
async function submitTo(client: Cluster, tag: string, job: JobSubmission) {
  for (let draw = 0; ; draw++) {
    const key = `${job.name}-${draw}`;
    const handle = await client.submit({ ...job, key });
    if (handle.id.startsWith(`${tag}-`)) return Object.assign(handle, { key });
    await handle.cancel();
  }
}

async function isIn(job: JobHandle, state: string): Promise<void> {
  await until(async () => (await job.describe()).state === state);
}

describe.runIf(isPostgresThere())('a scheduler that takes over the jobs of another', () => {
  test.each(['taken over from', 'killed'] as const)(
    'that is %s keeps retries, holds, stages, appended tasks and later begin times',
    async (how) => {
      const folder = mkdtempSync(join(tmpdir(), 'goshawk-takeover-'));
      const server = await PostgresServer.start();
      const shape = { schedulers: 2, workers: 4, workersPerProcess: 4, slots: 4 };
      const url = await server.createDatabase('jobs');
      const cluster = await SharedCluster.start(join(folder, 'cluster'), url, shape);
      try {
        await using client = await connect(cluster.url);
        const { schedulers } = await client.describe();
        const { name, tag } = schedulers[0]!;
        const module = join(folder, 'work.mjs');
        writeFileSync(module, MODULE);
        const path = (file: string): string => join(folder, file);
        const wait = `until [ -f ${path('go')} ]; do sleep 0.1; done`;
        const seventh = (then: string) =>
          ['sh', '-c', `[ $GOSHAWK_TASK != 7 ] || { [ -f ${path('fixed')} ] || exit 3; ${then}; }`] as const;
        const failing = (jobName: string, then: string) =>
          submitTo(client, tag, { name: jobName, tasks: { count: 10, run: { exec: [...seventh(then)] } } });

        const [retried, failed] = [await failing('retried', wait), await failing('failed', 'true')];
        for (const job of [retried, failed]) await isIn(job, 'failed');
        writeFileSync(path('fixed'), '');
        expect((await retried.retry({ failed: true })).tasksAgain).toBe(1);
        const sleep = { sleep: 1 };
        const after = await submitTo(client, tag, { name: 'after', tasks: [sleep], afterOk: [failed] });
        const held = await submitTo(client, tag, { name: 'held', tasks: [sleep], hold: true });
        await held.update({ priority: 'high' });
        const later = await submitTo(client, tag, { name: 'later', tasks: [sleep], begin: '+1h' });
        const soon = await submitTo(client, tag, { name: 'soon', tasks: [sleep], begin: '+4s' });
        const staged = await submitTo(client, tag, {
          name: 'staged',
          stages: [
            { name: 'extract', tasks: [1, 2, 3].map((input) => ({ module, export: 'square', input })) },
            { name: 'wait', after: ['extract'], tasks: [{ exec: ['sh', '-c', wait] }] },
            { name: 'sum', after: ['wait'], inputs: ['extract'], tasks: [{ module, export: 'sum' }] },
          ],
        });
        await until(async () => (await staged.describe()).tasks.completed === 3);

        const inputs = Array.from({ length: 200 }, (_, n) => ({ n, folder }));
        // A map with its key continues this job.
        const { key } = await submitTo(client, tag, { name: 'map', open: '1h' });
        const options = { name: 'map', key, onError: 'collect', inFlight: 50 } as const;
        const mapped = () => client.map<object, number>({ module, export: 'once' }, inputs, options);
        let read = 0;
        for await (const _ of mapped()) if (++read === 80) break;

        if (how === 'killed') await cluster.schedulers.get(name)!.kill();
        else await client.takeOverFrom(name);
        expect(await held.describe()).toMatchObject({ state: 'waiting', held: true, priority: 'high' });
        expect((await after.describe()).state).toBe('waiting');
        expect((await later.describe()).state).toBe('waiting');
        const results: TaskResult<number>[] = [];
        for await (const result of mapped()) results.push(result);
        expect(results.map(({ index }) => index)).toEqual([...inputs.keys()]);
        for (const { index, state, value, error } of results) {
          if (index % 10 === 7)
            expect([state, error?.message]).toEqual([
              'failed',
              expect.stringContaining(`${index} is unlucky`),
            ]);
          else expect([state, value]).toEqual(['completed', index]);
        }
        expect(readdirSync(folder).filter((file) => file.startsWith('call-'))).toHaveLength(200);

        writeFileSync(path('go'), '');
        expect((await retried.wait()).state).toBe('completed');
        expect((await retried.results())[7]).toMatchObject({ index: 7, state: 'completed', attempt: 2 });
        expect((await failed.retry({ tasks: '7' })).tasksAgain).toBe(1);
        expect((await failed.wait()).tasks).toMatchObject({ completed: 10 });
        expect((await after.wait()).state).toBe('completed');
        expect((await staged.results())[4]).toMatchObject({ stage: 'sum', value: 14 });
        await held.release();
        expect((await held.wait()).state).toBe('completed');
        expect((await soon.wait()).state).toBe('completed');
        await later.release();
        expect((await later.wait()).state).toBe('completed');
      } finally {
        await cluster.stop();
        await server.remove();
        rmSync(folder, { recursive: true, force: true });
      }
    },
  );
});

import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { TestDaemons } from '@goshawk/cli/testing';
import { connect } from '@goshawk/client';
import { afterEach, beforeEach, expect, it } from 'vitest';

const daemons = new TestDaemons('memory', { beforeEach, afterEach });
const SMALL = { NODE_OPTIONS: '--max-old-space-size=100' };

const TASKS = 1_200;
const BYTES = 250_000;
/** Number of one-task jobs submitted at a time. */
const TOGETHER = 200;

it('a scheduler accepts results of three times its heap, returns them, and restarts with that heap', async () => {
  const module = join(daemons.folder, 'big.mjs');
  await writeFile(module, `export default (task) => String(task).padEnd(${BYTES}, 'x');`);
  await daemons.startCentral();
  const scheduler = await daemons.startScheduler('s0', [], SMALL);
  await daemons.startWorker('w', ['--cpus', '2']);
  await using cluster = await connect(daemons.url);
  const tasks = Array.from({ length: TASKS }, (_, input) => ({ module, input }));
  const job = await cluster.submit({ tasks });
  expect(await job.wait()).toMatchObject({ state: 'completed', failures: [] });
  await scheduler.kill();
  await daemons.startScheduler('s0', [], SMALL);
  const values = await job.result();
  expect(values).toHaveLength(TASKS);
  values.forEach((value, task) => {
    expect(value).toHaveLength(BYTES);
    expect(String(value).startsWith(`${task}x`)).toBe(true);
  });
});

it('a job is still available after sixteen thousand others, which exceed the heap', async () => {
  const module = join(daemons.folder, 'same.mjs');
  await writeFile(module, 'export default (input) => input;');
  await daemons.startCentral();
  await daemons.startScheduler('s0', [], SMALL);
  await daemons.startWorker('w', ['--cpus', '2']);
  await using cluster = await connect(daemons.url);
  const first = await cluster.submit({ tasks: [{ module, input: 'first' }] });
  expect(await first.result()).toStrictEqual(['first']);
  for (let input = 0; input < 16_000; input += TOGETHER) {
    const jobs = Array.from({ length: TOGETHER }, (_, i) =>
      cluster.submit({ tasks: [{ module, input: input + i }] }),
    );
    const values = await Promise.all(jobs.map(async (job) => (await job).result()));
    expect(values).toStrictEqual(values.map((_, i) => [input + i]));
  }
  expect(await first.result()).toStrictEqual(['first']);
});

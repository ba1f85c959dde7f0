import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect } from '@goshawk/client';
import { afterEach, expect, it } from 'vitest';
import { type DaemonProcess, startDaemon } from './daemon-process.fixture.js';

const cleanUp: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const undo of cleanUp.splice(0).reverse()) await undo();
});

async function started(...args: Parameters<typeof startDaemon>): Promise<DaemonProcess> {
  const daemon = await startDaemon(...args);
  cleanUp.push(() => daemon.kill());
  return daemon;
}

const TASKS = 1_200;
const BYTES = 250_000;

it('a scheduler takes results of three times its heap, gives them back, and starts again with that heap', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'goshawk-memory-'));
  cleanUp.push(() => rm(folder, { recursive: true }));
  const module = join(folder, 'big.mjs');
  await writeFile(module, `export default (task) => String(task).padEnd(${BYTES}, 'x');`);
  const central = await started('central', []);
  const small = { NODE_OPTIONS: '--max-old-space-size=100' };
  const at = ['--name', 's0', '--central-url', central.endpoint, '--data-folder', join(folder, 'journal')];
  const scheduler = await started('scheduler', at, small);
  await started('worker', ['--central-url', central.endpoint, '--slots', '2']);
  await using cluster = await connect(central.endpoint);
  const tasks = Array.from({ length: TASKS }, (_, input) => ({ module, input }));
  const job = await cluster.submit({ tasks });
  expect(await job.wait()).toMatchObject({ state: 'completed', failures: [] });
  await scheduler.kill();
  await started('scheduler', at, small);
  const values = await job.result();
  expect(values).toHaveLength(TASKS);
  values.forEach((value, task) => {
    expect(value).toHaveLength(BYTES);
    expect(String(value).startsWith(`${task}x`)).toBe(true);
  });
}, 180_000);

it('a job of before sixteen thousand others is still there, though they are more than the heap would hold', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'goshawk-memory-'));
  cleanUp.push(() => rm(folder, { recursive: true }));
  const module = join(folder, 'same.mjs');
  await writeFile(module, 'export default (input) => input;');
  const central = await started('central', []);
  const at = ['--name', 's0', '--central-url', central.endpoint, '--data-folder', join(folder, 'journal')];
  await started('scheduler', at, { NODE_OPTIONS: '--max-old-space-size=100' });
  await started('worker', ['--central-url', central.endpoint, '--slots', '2']);
  await using cluster = await connect(central.endpoint);
  const first = await cluster.submit({ tasks: [{ module, input: 'first' }] });
  expect(await first.result()).toStrictEqual(['first']);
  const inputs = Array.from({ length: 16_000 }, (_, input) => input);
  let next = 0;
  // With a limit of its own each input is a job.
  const each = { maxRunning: 1 };
  for await (const value of cluster.map({ module }, inputs, each)) expect(value).toBe(next++);
  expect(next).toBe(inputs.length);
  expect(await first.result()).toStrictEqual(['first']);
}, 300_000);

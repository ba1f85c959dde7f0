import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runHere } from '@goshawk/cli/testing';
import { afterAll, beforeAll, expect, it } from 'vitest';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'goshawk-slowdown-'));
});
afterAll(() => rm(folder, { recursive: true }));

it('tasks take longer on workers that their job does not prefer, without effect on estimates', async () => {
  const job = { submitSeconds: 0, durationsSeconds: [100, 100], name: 'half elsewhere', slowdown: 1.5 };
  const lines = [
    { schema: 'goshawk.trace/1' },
    { ...job, prefer: { rack: 'r1' } },
    { ...job, submitSeconds: 300, prefer: { rack: 'r1' } },
    { ...job, submitSeconds: 600, prefer: { rack: 'r1,r2' } },
  ];
  const trace = join(folder, 'trace.jsonl');
  const results = join(folder, 'results.jsonl');
  await writeFile(trace, lines.map((line) => `${JSON.stringify(line)}\n`).join(''));
  const cluster = ['--workers', '2', '--schedulers', '1', '--attribute', 'rack=r1,r2'];
  const { exitCode, stderr } = await runHere(
    ['simulate', trace, '--policy', '3sigma-sched', '--estimator', 'history', '--parallel', '1'].concat(
      cluster,
      [...['--save-results', results, '--json']],
    ),
  );
  expect(exitCode, stderr).toBe(0);
  const [, ...records] = (await readFile(results, 'utf8'))
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
  const runtimes = records.map(({ runtimeSeconds }) => Math.round(runtimeSeconds));
  expect(runtimes).toEqual([150, 150, 100]);
  expect(records.slice(1).map(({ estimateSeconds }) => estimateSeconds)).toEqual([100, 100]);
});

import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runHere } from '@goshawk/cli/testing';
import { afterAll, beforeAll, expect, it } from 'vitest';

let folder = '';
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'goshawk-spread-test-'));
  const spread = { rack: 'spread:1' };
  const lines = [
    { schema: 'goshawk.trace/1' },
    { submitSeconds: 0, durationsSeconds: [4, 4, 4], require: spread },
    { submitSeconds: 100, durationsSeconds: [4, 4], require: spread, gang: true },
  ];
  await writeFile(join(folder, 'jobs.jsonl'), lines.map((line) => `${JSON.stringify(line)}\n`).join(''));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

const simulate = (...args: string[]) =>
  runHere(['simulate', join(folder, 'jobs.jsonl'), '--workers', '8', '--parallel', '1', '--json', ...args], {
    cwd: folder,
  });

it('a simulated job waits for room in another rack', async () => {
  const { exitCode, stdout, stderr } = await simulate('--attribute', 'rack=r1,r2', '--policy', 'goshawk');
  expect(stderr).not.toContain('goshawk.error');
  expect(exitCode).toBe(0);
  const [run] = JSON.parse(stdout).runs;
  expect(run.jobs.completed).toBe(2);
  // Two of its tasks run at once, then the third; all three would fit at once.
  expect(run.runtimeSeconds.all.max).toBeGreaterThan(8);
});

it.each([
  [['--attribute', 'rack=r1,r2', '--policy', 'sparrow'], 'policy sparrow does not spread the tasks of job'],
  [
    ['--attribute', 'rack=r1', '--policy', 'goshawk'],
    'the 2 tasks of job 2 start together, at most 1 per rack',
  ],
])('simulate %s is an error of one line', async (args, line) => {
  const { exitCode, stderr } = await simulate(...args);
  expect(stderr.trim().split('\n').at(-1)).toContain(line);
  expect(exitCode).toBe(2);
});

import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Comparison } from '@goshawk/report';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runHere } from '../terminal.fixture.js';

let folder = '';
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'goshawk-simulate-test-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

/** A trace of our own, of these jobs. */
async function traceOf(...jobs: readonly object[]): Promise<string> {
  const file = join(folder, 'jobs.jsonl');
  const lines = [{ schema: 'goshawk.trace/1' }, ...jobs].map((each) => JSON.stringify(each));
  await writeFile(file, lines.join('\n'));
  return file;
}

async function simulate(...args: string[]): Promise<Comparison> {
  const { exitCode, stdout, stderr } = await runHere(['simulate', ...args, '--json', '--parallel', '1']);
  expect(stderr).not.toContain('goshawk:');
  expect(exitCode).toBe(0);
  return JSON.parse(stdout) as Comparison;
}

const SMALL = ['--workers', '20', '--policy', 'hawk,sparrow'];

describe('a simulated job', () => {
  const staged = {
    submitSeconds: 0,
    stages: [
      { name: 'map', durationsSeconds: [10, 20] },
      { name: 'reduce', after: ['map'], durationsSeconds: [5, 5] },
    ],
  };

  it('starts a stage when those before it have ended', async () => {
    const { runs, workload } = await simulate(await traceOf(staged), ...SMALL, '--cutoff', '100');
    expect(workload).toMatchObject({ jobs: 1, tasks: 4, taskSeconds: 40 });
    for (const { jobs, tasks, runtimeSeconds, queueingSeconds } of runs) {
      expect(jobs).toEqual({ submitted: 1, completed: 1, failed: 0 });
      expect(tasks).toEqual({ submitted: 4, completed: 4, attempts: 4 });
      expect(runtimeSeconds.short.p50).toBeGreaterThanOrEqual(25);
      expect(runtimeSeconds.short.p50).toBeLessThan(25.1);
      expect(queueingSeconds.short.max).toBeGreaterThanOrEqual(20);
    }
  });

  it('is what its submitter says, where schedulers are told that', async () => {
    // Long jobs are placed by central, and only they.
    const placed = async (estimator: string) => {
      const trace = await traceOf({ ...staged, estimateSeconds: 500 });
      const { runs } = await simulate(trace, '--workers', '20', '--cutoff', '100', '--estimator', estimator);
      return runs[0]!.messages.byType.place ?? 0;
    };
    expect(await placed('oracle')).toBe(0);
    expect(await placed('given')).toBeGreaterThan(0);
  });

  it('runs no more tasks at a time than it says, and than there is room for', async () => {
    const job = { submitSeconds: 0, durationsSeconds: new Array<number>(8).fill(10) };
    const runtime = async (changes: object, ...args: string[]) => {
      const { runs } = await simulate(await traceOf({ ...job, ...changes }), '--workers', '1', ...args);
      return Math.round(runs[0]!.runtimeSeconds.all.max!);
    };
    expect(await runtime({}, '--slots', '8')).toBe(10);
    expect(await runtime({ maxRunning: 4 }, '--slots', '8')).toBe(20);
    expect(await runtime({ demand: { cpu: 2 } }, '--slots', '8')).toBe(20);
    expect(await runtime({ demand: { gpu: 1 } }, '--slots', '8', '--resources', 'gpu=2')).toBe(40);
  });

  it('fails when a task takes longer than it may, and the command with it', async () => {
    const trace = await traceOf(
      { ...staged, timeoutSeconds: 15, retries: 1 },
      { submitSeconds: 1, durationsSeconds: [3] },
    );
    const { exitCode, stdout } = await runHere(['simulate', trace, ...SMALL, '--json', '--parallel', '1']);
    expect(exitCode).toBe(1);
    const { runs } = JSON.parse(stdout) as Comparison;
    for (const { jobs, tasks } of runs) {
      expect(jobs).toEqual({ submitted: 2, completed: 1, failed: 1 });
      expect(tasks).toEqual({ submitted: 5, completed: 2, attempts: 4 });
    }
  });
});

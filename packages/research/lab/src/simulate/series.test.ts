import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runHere } from '@goshawk/cli/testing';
import type { Comparison } from '@goshawk/report';
import { afterAll, beforeAll, expect, test } from 'vitest';

let folder = '';
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'goshawk-series-test-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

async function simulate(...more: string[]): Promise<Comparison> {
  const args = ['simulate', 'google-like:jobs=200,seed=3', '--workers', '200', '--load', '0.9', ...more];
  const { exitCode, stdout, stderr } = await runHere([...args, '--json', '--parallel', '1']);
  expect(stderr).not.toContain('goshawk:');
  expect(exitCode).toBe(0);
  return JSON.parse(stdout) as Comparison;
}

const total = (counts: readonly number[]) => counts.reduce((sum, count) => sum + count, 0);

test('the series of a simulated run add up to its other results', async () => {
  const { runs } = await simulate('--policy', 'hawk,sparrow');
  for (const { series, steals, policy } of runs) {
    const { seconds, busySlots, waitingTasks, jobsUnderway, counted } = series;
    expect(seconds.length).toBeGreaterThan(10);
    expect(seconds.length).toBeLessThanOrEqual(1_000);
    for (const column of [busySlots, waitingTasks.short, waitingTasks.long, jobsUnderway.short]) {
      expect(column).toHaveLength(seconds.length);
    }
    expect(Math.max(...busySlots)).toBeLessThanOrEqual(200);
    expect(total(counted!.stealAttempts)).toBe(steals.attempts);
    expect(total(counted!.stealSuccesses)).toBe(steals.successes);
    expect(total(counted!.probesMoved)).toBe(steals.probesMoved);
    expect(steals.attempts > 0).toBe(policy === 'hawk');
    // Lazily cancelled probes also wait in the queues, and the counters include them.
    expect(Math.max(...counted!.queuedEntries.map((entries) => entries ?? 0))).toBeGreaterThan(0);
  }
});

test('binding is a round trip, and the parts add up to the mean run time', async () => {
  const [run] = (await simulate('--policy', 'hawk', '--network-delay', '2ms')).runs;
  for (const of of ['short', 'long'] as const) {
    const { queueing, binding, running, reporting } = run!.timeParts[of]!;
    expect(binding).toBeCloseTo(0.004, 9);
    expect(reporting).toBeCloseTo(0.002, 9);
    expect(queueing + binding! + running + reporting!).toBeCloseTo(run!.runtimeSeconds[of].mean!, 6);
  }
});

test('jobs of the warm-up occupy slots but are left out of the run times', async () => {
  const [whole] = (await simulate('--policy', 'sparrow')).runs;
  const [warm] = (await simulate('--policy', 'sparrow', '--warm-up', '1000s')).runs;
  expect(warm!.jobs.submitted).toBeLessThan(whole!.jobs.submitted);
  expect(warm!.series).toEqual(whole!.series);
  expect(warm!.utilisation).toEqual(whole!.utilisation);
});

test('the page shows the series of the run', async () => {
  const report = join(folder, 'report.html');
  await simulate('--policy', 'hawk,sparrow', '--report', report);
  const page = await readFile(report, 'utf8');
  for (const title of [
    'Busy CPUs',
    'Entries in worker queues',
    'Short tasks waiting',
    'Long tasks waiting',
    'Steal attempts',
    'Steals that succeeded',
  ]) {
    expect(page).toContain(`<figcaption>${title}</figcaption>`);
  }
  expect(page).toContain('<span class="box binding"></span>');
});

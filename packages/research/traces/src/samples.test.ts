import { join } from 'node:path';
import { expect, it } from 'vitest';
import { collect } from './job.js';
import { openWorkload } from './workload.js';

const SAMPLES = join(import.meta.dirname, '../samples');

async function jobsOf(name: string) {
  const jobs = await collect((await openWorkload(join(SAMPLES, name))).jobs());
  return jobs.map((job) => [job.submitSeconds, ...job.durationsSeconds]);
}

// The documents show these hand-made samples.
it('small.tr and stages.jsonl contain the same times', async () => {
  const times = [
    [0, 1, 2, 3],
    [1.5, 30],
    [2, 0.25, 0.5, 0.5, 0.75],
  ];
  expect(await jobsOf('small.tr')).toEqual(times);
  expect(await jobsOf('stages.jsonl')).toEqual(times.with(0, [0, 1, 2, 3, 4]));
});

it('google2011 contains a job whose second task was evicted once, and two omitted jobs', async () => {
  expect(await jobsOf('google2011')).toEqual([[600, 30, 30]]);
  const { tallied } = await openWorkload(join(SAMPLES, 'google2011'));
  expect(Object.fromEntries(tallied.map(({ code, count }) => [code, count]))).toEqual({
    'jobs-before-trace': 1,
    'jobs-nothing-finished': 1,
    'tasks-killed': 1,
    'tasks-run-again': 1,
  });
});

import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { meanOf } from '@goshawk/core';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { collect } from '../job.js';
import { openWorkload } from '../workload.js';

let folder = '';
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'goshawk-gtrace-dag-test-'));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

async function jobsOf(rows: readonly string[]) {
  const file = join(folder, 'past.csv');
  await writeFile(file, ['submit_s,start_s,end_s,user,job_name', ...rows, ''].join('\n'));
  return collect((await openWorkload(file)).jobs());
}

test('jobs with the same user and name become consecutive stages, each as long as its job', async () => {
  const rows = Array.from({ length: 40 }, (_, i) => `${100 + i},${100 + i},${110 + 2 * i},ada,nightly`);
  const jobs = await jobsOf([...rows, '90,91,95,bob,once', '100,100,300,ada,other', '101,101,300,ada,other']);
  expect(jobs[0]!.submitSeconds).toBe(0);
  const ofAda = jobs.filter(({ name }) => name === 'nightly');
  const means: number[] = [];
  for (const { stages = [], durationsSeconds, user } of ofAda) {
    expect(user).toBe('ada');
    expect(stages.length).toBeGreaterThanOrEqual(2);
    expect(stages.length).toBeLessThanOrEqual(5);
    let first = 0;
    stages.forEach(({ tasks, after }, place) => {
      expect(after).toEqual(place === 0 ? [] : [place - 1]);
      expect(tasks).toBeGreaterThanOrEqual(3);
      expect(tasks).toBeLessThanOrEqual(150);
      means.push(meanOf(durationsSeconds.subarray(first, first + tasks)));
      first += tasks;
    });
    expect(first).toBe(durationsSeconds.length);
  }
  means.forEach((mean, i) => {
    expect(mean).toBeCloseTo(10 + i, 3);
  });
  expect(means.length).toBeGreaterThanOrEqual(39);
  expect(jobs.some(({ name }) => name === 'once')).toBe(false);
  expect(jobs.filter(({ name }) => name === 'other').map(({ stages }) => stages?.length)).toEqual([2]);
});

test('a file without repeated jobs is rejected', async () => {
  await expect(jobsOf(['1,1,2,ada,x', '2,2,3,bob,x'])).rejects.toThrow('at least two are needed');
});

import type { Cluster, JobsOptions } from '@goshawk/client';
import { JobWord, jobWords } from '@goshawk/command';
import { type JobSummary, UnreachableError } from '@goshawk/core';
import { expect, it } from 'vitest';
import { checkTasksExist, findJobs } from './find-jobs.js';
import { jobSummary, recordingContext } from './jobs.fixture.js';

const JOBS = [
  jobSummary({ id: '4ckks-9', user: 'ann', submittedAt: 2_000 }),
  jobSummary({ id: '4ckks-10', user: 'ann', submittedAt: 2_000 }),
  jobSummary({ id: 'x2pqr-1', user: 'ann', submittedAt: 1_000 }),
  jobSummary({ id: '7xyzw-1', user: 'bob', submittedAt: 3_000 }),
];

function clusterOf(jobs: readonly JobSummary[], silent: string[] = [], truncated = false): Cluster {
  const list = async ({ user }: JobsOptions) => ({
    jobs: jobs.filter((job) => user === undefined || job.user === user),
    silent,
    truncated,
  });
  const job = (id: string) => ({ id });
  return {
    user: 'ann',
    jobs: list,
    job,
    hasOwner: (id: string) => id.startsWith('4ckks-'),
  } as unknown as Cluster;
}

const { context } = recordingContext();
const named = async (word: string, cluster = clusterOf(JOBS)) =>
  (await new JobWord(word).wholeJob(context, cluster)).id;

it('complete ids are not looked up', async () => {
  expect(await named('4ckks-1')).toBe('4ckks-1');
});

it('a prefix of an id is sufficient', async () => {
  expect(await named('x2')).toBe('x2pqr-1');
  const found = await findJobs(context, clusterOf(JOBS), jobWords(['x2', 'x2pqr-1', '7x']));
  expect(found.map(({ id }) => id)).toEqual(['x2pqr-1', '7xyzw-1']);
});

it('tasks beyond the last one are refused', () => {
  const tasks = new JobWord('a1-3/0,4-6').named.tasks;
  expect(() => checkTasksExist('a1-3', tasks, 7)).not.toThrow();
  expect(() => checkTasksExist('a1-3', tasks, 6)).toThrow('a1-3 has no task 6');
});

it('a name is the job of that name that this user submitted last, even if it looks like an id', async () => {
  const jobs = [
    ...JOBS,
    jobSummary({ id: 'p1-1', name: 'etl-2024', user: 'ann', submittedAt: 10 }),
    jobSummary({ id: 'p1-2', name: 'etl-2024', user: 'ann', submittedAt: 20 }),
    jobSummary({ id: 'p1-3', name: 'etl-2024', user: 'bob', submittedAt: 30 }),
    jobSummary({ id: 'p1-4', name: 'x2', user: 'ann', submittedAt: 30 }),
  ];
  const { context, written } = recordingContext();
  expect((await new JobWord('etl-2024/train').job(context, clusterOf(jobs))).id).toBe('p1-2');
  expect(written.stderr).toBe('p1-2 is the last of 2 jobs named "etl-2024"\n');
  await expect(named('x2', clusterOf(jobs))).rejects.toThrow(
    '2 jobs have ids that begin with "x2" or that name: x2pqr-1, p1-4',
  );
  expect(await named('gone-7', clusterOf(jobs))).toBe('gone-7');
});

it('all unknown jobs are named', async () => {
  const { context, written } = recordingContext();
  await expect(findJobs(context, clusterOf(JOBS), jobWords(['a', 'x2', 'b']))).rejects.toThrow(
    'no job has the name "a"',
  );
  expect(written.stderr).toContain('no job has the name "b"');
});

it('last is the job that this user submitted last', async () => {
  expect(await named('last')).toBe('4ckks-10');
});

it('last is rejected if a truncated list may lack it', async () => {
  const active = JOBS.map((job) => ({ ...job, state: 'running' as const }));
  await expect(named('last', clusterOf(active, [], true))).rejects.toThrow('more than 10,000 are active');
  expect(await named('last', clusterOf(JOBS, [], true))).toBe('4ckks-10');
});

it('some commands accept one task', () => {
  const taskIn = (word: string) => new JobWord(word).oneTask;
  expect(taskIn('last')).toBeUndefined();
  expect(taskIn('a1-3/17')).toBe(17);
  expect(taskIn('a1-3/train/17')).toBe(17);
  for (const wrong of ['a1-3/train', 'a1-3/1-2', 'a1-3/train/1,3'])
    expect(() => taskIn(wrong)).toThrow(`"${wrong}" is not one task`);
});

it('equal words are one job', () => {
  expect(new Set(jobWords(['a1-3', 'last', 'a1-3'])).size).toBe(2);
});

it.each([
  ['4ck', JOBS, '2 jobs have ids that begin with "4ck": 4ckks-9, 4ckks-10'],
  ['last/0', JOBS, '"last/0" names tasks, not a job'],
  ['4ckks-9/7-20', JOBS, '"4ckks-9/7-20" names tasks, not a job'],
  ['q', JOBS, 'no job has the name "q"'],
  ['', JOBS, 'no job has the name ""'],
  ['last', [], 'no job of ann is known'],
])('%j is refused', async (word, jobs, message) => {
  await expect(named(word, clusterOf(jobs))).rejects.toThrow(message);
});

it('names schedulers whose jobs are missing', async () => {
  const cluster = clusterOf(JOBS, ['s3']);
  for (const [word, message] of [
    ['q', 'no known job is "q"; no answer from s3'],
    ['last', 'cannot find the last job: no answer from s3'],
  ] as const) {
    await expect(named(word, cluster)).rejects.toThrow(message);
    await expect(named(word, cluster)).rejects.toBeInstanceOf(UnreachableError);
  }
});

import type { Cluster } from '@goshawk/client';
import { InputError, type JobDetail, NO_RESOURCES } from '@goshawk/core';
import { describe, expect, it } from 'vitest';
import { snapshotOf } from './snapshot.js';

const NOW = new AbortController().signal;
const NOTHING = { total: 0, waiting: 0, running: 0, completed: 0, failed: 0, cancelled: 0 };

/** A job of one stage with these tasks. */
function detailOf(id: string, waiting: number, elapsedMs: readonly number[], more: object = {}): JobDetail {
  const tasks = waiting + elapsedMs.length;
  const counts = { ...NOTHING, total: tasks, waiting, running: elapsedMs.length };
  return {
    ...{ id, name: id, user: 'ann', state: 'running', submittedAt: 0, priority: 'normal', tasks: counts },
    stages: [{ name: 'tasks', tasks, counts, after: [], demand: NO_RESOURCES, meanRunMs: 1_000 }],
    running: elapsedMs.map((elapsed, task) => ({ task, attempt: 1, worker: 'w0', elapsedMs: elapsed })),
    spec: {
      ...{ name: id, weight: 1 },
      stages: [
        { name: 'tasks', after: [], tasks: { count: tasks, run: { exec: ['x'] } }, demand: NO_RESOURCES },
      ],
    },
    ...more,
  } as unknown as JobDetail;
}

function clusterOf(details: readonly JobDetail[], total = details.length): Cluster {
  const worker = { name: 'w0', state: 'active', slots: 2, capacity: { cpu: 2 }, attributes: {} };
  return {
    describe: async () => ({ workers: [worker], schedulers: [{}], settings: { policy: {} } }),
    jobs: async () => ({ jobs: details, total }),
    job: (id: string) => ({
      describe: async () => {
        const found = details.find((detail) => detail.id === id);
        if (found === undefined) throw new InputError('unknown-job', 'no scheduler knows it', '');
        return found;
      },
    }),
  } as unknown as Cluster;
}

const partsOf = async (details: readonly JobDetail[], id: string) =>
  (await snapshotOf(clusterOf(details), id, NOW)).jobs.map(({ spec, isAsked, isRunning, waits }) => ({
    ...{ name: spec.name, isAsked, isRunning, waits },
    sleepsMs: spec.stages.map(({ tasks }) => ('sleepsMs' in tasks ? [...(tasks.sleepsMs as number[])] : [])),
  }));

it('running tasks of all jobs come first, with the rest of their run time; overdue ones take as long again', async () => {
  expect(await partsOf([detailOf('a', 1, [400, 5_000]), detailOf('b', 2, [])], 'b')).toEqual([
    { name: 'a', isAsked: false, isRunning: true, waits: [false, false], sleepsMs: [[600, 5_000]] },
    { name: 'b', isAsked: true, isRunning: false, waits: [true, true], sleepsMs: [[1_000, 1_000]] },
    { name: 'a', isAsked: false, isRunning: false, waits: [true], sleepsMs: [[1_000]] },
  ]);
});

it('a job with a limit of running tasks stays whole', async () => {
  const limited = detailOf('a', 1, [400]);
  (limited.spec as { maxRunning?: number }).maxRunning = 1;
  expect(await partsOf([limited], 'a')).toEqual([
    { name: 'a', isAsked: true, isRunning: true, waits: [false, true], sleepsMs: [[600, 1_000]] },
  ]);
});

it('a job on hold has only its running tasks', async () => {
  const details = [detailOf('h', 3, [400], { held: true }), detailOf('i', 3, [], { held: true })];
  expect(await partsOf([...details, detailOf('b', 1, [])], 'b')).toEqual([
    { name: 'h', isAsked: false, isRunning: true, waits: [false], sleepsMs: [[600]] },
    { name: 'b', isAsked: true, isRunning: false, waits: [true], sleepsMs: [[1_000]] },
  ]);
});

it('the average run time of the others is assumed for jobs without any', async () => {
  const unknown = detailOf('b', 1, []);
  (unknown.stages[0] as { meanRunMs: undefined }).meanRunMs = undefined;
  const { jobs, assumedRunTimes } = await snapshotOf(clusterOf([detailOf('a', 1, []), unknown]), 'b', NOW);
  expect(assumedRunTimes).toBe(1);
  expect(jobs.find(({ isAsked }) => isAsked)!.spec.estimateMs).toBe(1_000);
  await expect(snapshotOf(clusterOf([unknown]), 'b', NOW)).rejects.toThrow(
    'run times of all jobs are unknown',
  );
});

describe('refuses', () => {
  it.each([
    ['a job that has ended', { state: 'completed' }, 'has ended'],
    ['a job on hold', { held: true }, 'is on hold'],
    ['a job that begins later', { beginAt: 1 }, 'begins later'],
    ['a job that waits for another one', { after: [{}] }, 'waits for another job'],
  ])('%s', async (_, more, message) => {
    await expect(snapshotOf(clusterOf([detailOf('a', 1, [], more)]), 'a', NOW)).rejects.toThrow(message);
  });

  it('a job without waiting tasks, an unknown job and too many jobs', async () => {
    await expect(snapshotOf(clusterOf([detailOf('a', 0, [1])]), 'a', NOW)).rejects.toThrow(
      'no task of a waits',
    );
    await expect(snapshotOf(clusterOf([]), 'a', NOW)).rejects.toThrow('no scheduler knows it');
    await expect(snapshotOf(clusterOf([detailOf('a', 1, [])], 501), 'a', NOW)).rejects.toThrow(
      'at most 500 jobs with',
    );
  });
});

it('keeps the identity of an empty demand, and takes null in a spec for an absent field', async () => {
  const sent = detailOf('a', 2, []);
  Object.assign(sent.spec as object, { maxRunning: null, prefer: null });
  Object.assign((sent.spec as { stages: object[] }).stages[0]!, { demand: {}, gang: null, requires: null });
  const [job] = (await snapshotOf(clusterOf([sent]), 'a', NOW)).jobs;
  expect(job!.spec.stages[0]!.demand).toBe(NO_RESOURCES);
  expect(Object.keys(job!.spec.stages[0]!)).not.toEqual(expect.arrayContaining(['gang']));
  expect(job!.spec.maxRunning).toBeUndefined();
});

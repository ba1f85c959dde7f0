import type { Cluster, JobShare } from '@goshawk/client';
import * as opening from '@goshawk/command/cluster';
import { afterEach, expect, it, vi } from 'vitest';
import { recordingContext, taskCounts } from '../jobs/jobs.fixture.js';
import { sharesCommand } from './shares.js';

afterEach(() => vi.restoreAllMocks());

it('adds up the resources of the jobs of a user, with exact decimals', async () => {
  const job = (id: string, cpu: number): JobShare => ({
    id,
    user: 'ann',
    weight: 1,
    running: 1,
    waiting: 0,
    has: { cpu },
    due: { cpu: 1 },
  });
  const shares = { by: 'user', capacity: { cpu: 2 }, jobs: [job('a-1', 0.1), job('a-2', 0.2)], total: 2 };
  vi.spyOn(opening, 'openCluster').mockResolvedValue({
    shares: async () => shares,
    jobs: async () => ({ jobs: [] }),
    [Symbol.asyncDispose]: async () => {},
  } as unknown as Cluster);
  const { context, written } = recordingContext({ global: { json: true } });
  const none = { words: [], afterDashes: undefined };
  await sharesCommand.run(context, { by: undefined, limit: 100, from: 0 }, none, {});
  expect(JSON.parse(written.stdout).shares).toMatchObject([
    { user: 'ann', jobs: 2, running: 2, has: { cpu: 0.3 }, due: { cpu: 2 } },
  ]);
});

it('counts the waiting tasks of a job on hold that central lists because tasks of it run', async () => {
  const job = (id: string, user: string): JobShare => ({
    ...{ id, user, weight: 1, running: 2, waiting: 0, has: { cpu: 2 } },
  });
  const held = (id: string, user: string, waiting: number, running: number) => ({
    ...{ id, user, state: 'running', held: true, tasks: taskCounts({ waiting, running, completed: 2 }) },
  });
  vi.spyOn(opening, 'openCluster').mockResolvedValue({
    shares: async () => ({ capacity: { cpu: 8 }, jobs: [job('a-1', 'ann'), job('b-1', 'ben')], total: 2 }),
    jobs: async () => ({ jobs: [held('a-1', 'ann', 5, 2), held('a-2', 'ann', 4, 0)] }),
    [Symbol.asyncDispose]: async () => {},
  } as unknown as Cluster);
  const none = { words: [], afterDashes: undefined };
  const shown = async (by: 'job' | 'user') => {
    const { context, written } = recordingContext({ global: { json: true } });
    await sharesCommand.run(context, { by, limit: 100, from: 0 }, none, {});
    return JSON.parse(written.stdout);
  };
  expect(await shown('user')).toMatchObject({
    shares: [
      { user: 'ann', jobs: 2, running: 2, waiting: 9, weight: 1 },
      { user: 'ben', jobs: 1, running: 2, waiting: 0 },
    ],
  });
  expect(await shown('job')).toMatchObject({
    shares: [
      { job: 'a-1', waiting: 5 },
      { job: 'b-1', waiting: 0 },
      { job: 'a-2', waiting: 4, weight: null },
    ],
    total: 3,
  });
});

it('lists page by page, with the start of the next one', async () => {
  const job = (number: number): JobShare => ({
    ...{ id: `a-${number}`, user: 'ann', weight: 1, running: 1, waiting: 0 },
    has: { cpu: 10 - number },
  });
  vi.spyOn(opening, 'openCluster').mockResolvedValue({
    shares: async () => ({ capacity: { cpu: 100 }, jobs: [1, 2, 3].map(job), total: 3 }),
    jobs: async () => ({ jobs: [] }),
    [Symbol.asyncDispose]: async () => {},
  } as unknown as Cluster);
  const part = async (from: number) => {
    const { context, written } = recordingContext({ global: { json: true } });
    const none = { words: [], afterDashes: undefined };
    await sharesCommand.run(context, { by: undefined, limit: 2, from }, none, {});
    const { shares, next, truncated } = JSON.parse(written.stdout);
    return [shares.map((share: { job: string }) => share.job), next, truncated];
  };
  expect(await part(0)).toEqual([['a-1', 'a-2'], 2, true]);
  expect(await part(2)).toEqual([['a-3'], null, false]);
});

it.each([
  [{ slot: 1, cpu: 4 }, '0 jobs in a cluster of cpu 4; this policy does not enforce shares'],
  [{ cpu: 4 }, '0 jobs in a cluster of cpu 4; this policy does not enforce shares'],
  [{}, '0 jobs in a cluster of no workers; this policy does not enforce shares'],
])('prints the capacity: %j', async (capacity, line) => {
  vi.spyOn(opening, 'openCluster').mockResolvedValue({
    shares: async () => ({ capacity, jobs: [], total: 0 }),
    jobs: async () => ({ jobs: [] }),
    [Symbol.asyncDispose]: async () => {},
  } as unknown as Cluster);
  const { context, written } = recordingContext({});
  const none = { words: [], afterDashes: undefined };
  await sharesCommand.run(context, { by: undefined, limit: 100, from: 0 }, none, {});
  expect(`${written.stdout}${written.stderr}`).toContain(line);
});

it('lists jobs on hold and jobs that begin later, which central does not know', async () => {
  const running = {
    id: 'a-1',
    user: 'ann',
    weight: 2,
    running: 1,
    waiting: 0,
    has: { cpu: 1 },
    due: { cpu: 2 },
  };
  const held = { id: 'a-2', user: 'ann', held: true, tasks: taskCounts({ waiting: 3 }) };
  const later = { id: 'a-3', user: 'ben', beginAt: 5, tasks: taskCounts({ waiting: 4 }) };
  vi.spyOn(opening, 'openCluster').mockResolvedValue({
    shares: async () => ({ by: 'user', capacity: { cpu: 2 }, jobs: [running], total: 1 }),
    jobs: async () => ({ jobs: [{ ...running, tasks: taskCounts({ running: 1 }) }, held, later] }),
    [Symbol.asyncDispose]: async () => {},
  } as unknown as Cluster);
  const listed = async (by: 'job' | 'user') => {
    const { context, written } = recordingContext({ global: { json: true } });
    await sharesCommand.run(context, { by, limit: 100, from: 0 }, { words: [], afterDashes: undefined }, {});
    return JSON.parse(written.stdout);
  };
  expect(await listed('job')).toMatchObject({
    total: 3,
    shares: [
      { job: 'a-1', weight: 2 },
      { job: 'a-2', user: 'ann', weight: null, running: 0, waiting: 3, share: 0 },
      { job: 'a-3', user: 'ben', weight: null, waiting: 4 },
    ],
  });
  expect(await listed('user')).toMatchObject({
    shares: [
      { user: 'ann', jobs: 2, weight: 1, running: 1, waiting: 3 },
      { user: 'ben', jobs: 1, weight: null, waiting: 4, dueShare: 0 },
    ],
  });
});

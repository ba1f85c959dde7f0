import type { Cluster } from '@goshawk/client';
import { type JobSummary, UnreachableError } from '@goshawk/core';
import { expect, it } from 'vitest';
import { Findings } from './findings.js';
import { REFRESHED_JOBS, SAMPLED_JOBS_MAX, Sampler } from './sampler.js';
import { TaskStream } from './task-stream.js';
import { WaitingLimits } from './waiting-limits.js';

const NOW = 1_764_000_000_000;
const NEVER = new AbortController().signal;

/** A cluster that runs this many jobs of a million tasks each, and records the requests that it receives. */
function cluster(jobs: number) {
  const asked: string[] = [];
  const summary = (index: number) => ({
    ...{ id: `a-${index}`, name: 'job', state: 'running', submittedAt: NOW },
    tasks: { total: 1e6, waiting: 5, running: 1e6 - 5, completed: 0, failed: 0, cancelled: 0 },
  });
  const client = {
    jobs: async ({ states, limit }: { states: string[]; limit: number }) => {
      asked.push('jobs');
      const listed = states.includes('running') ? Math.min(limit, jobs) : 0;
      return { jobs: Array.from({ length: listed }, (_, index) => summary(index)), total: listed && jobs };
    },
    job: (id: string) => ({
      describe: async () => {
        asked.push(id);
        if (id === 'a-3') throw new UnreachableError('unreachable', 'its scheduler is away');
        return { ...summary(Number(id.slice(2))), stages: [], attemptList: [], running: [] };
      },
      explain: async () => {
        asked.push(`why ${id}`);
        return {
          job: summary(Number(id.slice(2))),
          waiting: [{ reason: 'matching', tasks: 5, waitedMs: 0 }],
          central: undefined,
        };
      },
    }),
  };
  return { client: client as unknown as Cluster, asked };
}

it('sends a few requests per sample, for any number of jobs and tasks', async () => {
  for (const jobs of [1, 50, 100_000]) {
    const { client, asked } = cluster(jobs);
    const sampler = new Sampler(new TaskStream(), new WaitingLimits(), new Findings());
    await sampler.sample(client, NOW, NEVER);
    expect(asked.length).toBeLessThanOrEqual(2 + 2 * SAMPLED_JOBS_MAX);
  }
});

it('asks central about fewer jobs while very many are active', async () => {
  const asks = async (jobs: number) => {
    const { client, asked } = cluster(jobs);
    await new Sampler(new TaskStream(), new WaitingLimits(), new Findings()).sample(client, NOW, NEVER);
    return asked.filter((one) => one.startsWith('why ')).length;
  };
  expect([await asks(1_000), await asks(5_000), await asks(100_000)]).toEqual([SAMPLED_JOBS_MAX, 4, 1]);
});

it('samples every listed job in turn, and continues if one does not answer', async () => {
  const { client, asked } = cluster(50);
  const limits = new WaitingLimits();
  const sampler = new Sampler(new TaskStream(), limits, new Findings());
  for (let look = 0; look < Math.ceil(50 / (SAMPLED_JOBS_MAX - REFRESHED_JOBS)); look++)
    await sampler.sample(client, NOW + look, NEVER);
  expect(new Set(asked.filter((one) => one.startsWith('a-'))).size).toBe(50);
  expect(limits.of('a-7')).toMatchObject([{ reason: 'matching', tasks: 5 }]);
});

it('returns to running jobs while new ones keep arriving', async () => {
  const { client, asked } = cluster(100);
  const sampler = new Sampler(new TaskStream(), new WaitingLimits(), new Findings());
  await sampler.sample(client, NOW, NEVER);
  const first = new Set(asked);
  for (let look = 1; look <= 3; look++) {
    asked.length = 0;
    await sampler.sample(client, NOW + look, NEVER);
    expect(asked.filter((one) => one.startsWith('a-') && first.has(one))).toHaveLength(REFRESHED_JOBS);
  }
});

it('requests a failed job once to learn its cause', async () => {
  const failed = {
    ...{ id: 'b-1', name: 'job', state: 'failed', endedMs: 5 },
    tasks: { total: 1, waiting: 0, running: 0, completed: 0, failed: 1, cancelled: 0 },
  } as unknown as JobSummary;
  let asked = 0;
  const client = {
    jobs: async () => ({ jobs: [], total: 0 }),
    job: () => ({
      describe: async () => {
        asked++;
        return { ...failed, stages: [], attemptList: [], running: [], failures: [{ exitCode: 3 }] };
      },
    }),
  } as unknown as Cluster;
  const findings = new Findings();
  const sampler = new Sampler(new TaskStream(), new WaitingLimits(), findings);
  for (const at of [0, 1, 2]) await sampler.sample(client, NOW + at, NEVER, [failed]);
  expect([asked, findings.causeOf(failed)]).toEqual([1, 'exit code 3']);
});

it('samples an ended job once, and once more after each retry', async () => {
  let endedMs = 1_000;
  let asked = 0;
  const summary = () => ({
    ...{ id: 'a-1', name: 'job', state: 'failed', submittedAt: NOW, endedMs },
    tasks: { total: 1, waiting: 0, running: 0, completed: 0, failed: 1, cancelled: 0 },
  });
  const client = {
    jobs: async ({ states }: { states: string[] }) =>
      states.includes('failed') ? { jobs: [summary()], total: 1 } : { jobs: [], total: 0 },
    job: () => ({
      describe: async () => {
        asked++;
        return { ...summary(), stages: [], attemptList: [], running: [], failures: [] };
      },
    }),
  } as unknown as Cluster;
  const sampler = new Sampler(new TaskStream(), new WaitingLimits(), new Findings());
  const look = async (): Promise<number> => {
    await sampler.sample(client, NOW, NEVER);
    return asked;
  };
  expect([await look(), await look()]).toEqual([1, 1]);
  endedMs = 9_000;
  expect([await look(), await look()]).toEqual([2, 2]);
});

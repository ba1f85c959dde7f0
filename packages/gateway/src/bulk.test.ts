import { GoshawkError } from '@goshawk/core';
import { expect, it } from 'vitest';
import { gatewayTo } from './gateway.fixture.js';

function summary(id: string, state: string, tasks: object, more: object = {}) {
  const none = { total: 9, waiting: 0, running: 0, completed: 0, failed: 0, cancelled: 0 };
  const said = { name: 'job', class: 'short', classifiedBy: 'estimate', submittedAt: 0 };
  return { id, state, ...said, tasks: { ...none, ...tasks }, ...more };
}

const JOBS = [
  summary('a-1', 'running', { waiting: 4, running: 2 }),
  summary('a-2', 'waiting', { waiting: 9 }, { held: true }),
  summary('a-3', 'failed', { failed: 3, cancelled: 1, completed: 5 }),
  summary('a-4', 'completed', { completed: 9 }),
];

async function opened() {
  const done: string[] = [];
  const queries: object[] = [];
  const url = await gatewayTo({
    jobs: async ({ signal: _, ...query }: { signal?: AbortSignal; limit: number }) => {
      if (query.limit === 10_000) queries.push(query);
      return { jobs: JOBS, total: 4, truncated: false, silent: [] };
    },
    job: (id: string) => {
      const act = (verb: string) => async () => {
        if (id === 'a-2' && verb === 'cancel') throw new GoshawkError('refused', 'its scheduler is full');
        done.push(`${verb} ${id}`);
      };
      return {
        describe: async () => {
          const found = JOBS.find((job) => job.id === id);
          if (found === undefined) throw new GoshawkError('unknown-job', `there is no job ${id}`);
          return found;
        },
        cancel: act('cancel'),
        retry: act('retry'),
        hold: act('hold'),
        release: act('release'),
      };
    },
  });
  const post = async (body: object) => {
    const headers = { 'content-type': 'application/json' };
    const sent = await fetch(`${url}/v1/jobs/bulk`, { method: 'POST', headers, body: JSON.stringify(body) });
    return { status: sent.status, body: (await sent.json()) as object };
  };
  return { post, done, queries };
}

it('reports what it would do, and changes nothing, with dryRun', async () => {
  const { post, done, queries } = await opened();
  expect((await post({ action: 'cancel', q: 'name:etl*', dryRun: true })).body).toMatchObject({
    ...{ schema: 'goshawk.bulk/1', dryRun: true, matched: 4, jobs: 2 },
    tasks: { waiting: 13, running: 2, again: 0 },
    ids: ['a-1', 'a-2'],
  });
  expect((await post({ action: 'retry', q: '', dryRun: true })).body).toMatchObject({
    jobs: 1,
    tasks: { waiting: 0, running: 0, again: 4 },
  });
  expect((await post({ action: 'hold', q: '', dryRun: true })).body).toMatchObject({ jobs: 1 });
  expect((await post({ action: 'release', q: '', dryRun: true })).body).toMatchObject({ jobs: 1 });
  expect(done).toEqual([]);
  expect(queries[0]).toEqual({ name: 'etl*', all: true, limit: 10_000 });
});

it('changes the matching jobs, and reports which was refused and why', async () => {
  const { post, done } = await opened();
  expect((await post({ action: 'cancel', q: '' })).body).toMatchObject({
    ...{ jobs: 2, failed: 1, errors: [{ job: 'a-2', message: 'its scheduler is full' }] },
  });
  expect((await post({ action: 'retry', ids: ['a-3', 'a-4', 'a-3'] })).body).toMatchObject({
    ...{ matched: 2, jobs: 1, failed: 0 },
  });
  expect(done).toEqual(['cancel a-1', 'retry a-3']);
});

it('refuses an unintended request for all jobs', async () => {
  const { post, done } = await opened();
  for (const body of [
    { action: 'cancel' },
    { action: 'cancel', q: '', ids: ['a-1'] },
    { action: 'cancel', q: 'color:red' },
    { action: 'burn', q: '' },
    { action: 'cancel', ids: [] },
  ])
    expect(await post(body)).toMatchObject({ status: 400 });
  expect(done).toEqual([]);
});

it('changes the other jobs if one no longer exists', async () => {
  const { post, done } = await opened();
  expect((await post({ action: 'hold', ids: ['a-1', 'a-9'] })).body).toMatchObject({
    ...{ matched: 1, jobs: 1, failed: 0 },
    errors: [{ job: 'a-9', message: 'there is no job a-9' }],
  });
  expect(done).toEqual(['hold a-1']);
});

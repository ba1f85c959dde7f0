import { InputError, UnreachableError } from '@goshawk/core';
import { expect, it, onTestFinished, vi } from 'vitest';
import { gatewayTo } from './gateway.fixture.js';
import { openGateway } from './server.js';

const SUMMARY = {
  name: 'job',
  class: 'short',
  classifiedBy: 'estimate',
  state: 'running',
  tasks: { total: 1, waiting: 0, running: 1, completed: 0, failed: 0, cancelled: 0 },
  submittedAt: 0,
};

async function read(url: string): Promise<{ status: number; body: Record<string, unknown> }> {
  const answer = await fetch(url);
  return { status: answer.status, body: (await answer.json()) as Record<string, unknown> };
}

it('jobs are paged as the client lists them', async () => {
  const asked: object[] = [];
  const url = await gatewayTo({
    jobs: async ({ signal: _, ...options }: { from: number; limit: number; signal: AbortSignal }) => {
      // The gateway itself looks for jobs that failed.
      if ('from' in options) asked.push(options);
      const next = options.from === 0 ? 50 : undefined;
      const jobs = [{ id: 'a-1', ...SUMMARY }];
      const counts = SUMMARY.tasks;
      return { jobs, total: 70, truncated: true, counts, next, silent: [], warnings: [], quotas: [] };
    },
  });
  const nextOf = async (query: string) => (await read(`${url}/v1/jobs?${query}`)).body.next;
  expect(await nextOf('state=running')).toBe(50);
  expect(await nextOf('from=9950&limit=1000')).toBeNull();
  expect(asked).toEqual([
    { states: ['running'], from: 0, limit: 50 },
    { states: undefined, from: 9_950, limit: 1_000 },
  ]);
});

it('the tasks of a job are paged', async () => {
  const asked: object[] = [];
  const url = await gatewayTo({
    job: () => ({
      tasksPage: async ({ signal: _, ...options }: { signal: AbortSignal }) => {
        asked.push(options);
        const row = { index: 7, stage: 'a', state: 'failed', attempt: 2, exitCode: 3, error: 'exit code 3' };
        return { tasks: [{ ...row, startedMs: 5, runMs: 10 }], total: 3, next: 8, submittedAt: 0 };
      },
    }),
  });
  expect(await read(`${url}/v1/jobs/a-1/tasks?state=failed&stage=a&from=5&limit=1`)).toMatchObject({
    status: 200,
    body: {
      schema: 'goshawk.tasks/1',
      job: 'a-1',
      tasks: [
        {
          index: 7,
          stage: 'a',
          state: 'failed',
          attempt: 2,
          worker: null,
          exitCode: 3,
          startedAt: '1970-01-01T00:00:00.005Z',
          endedAt: '1970-01-01T00:00:00.015Z',
          runSeconds: 0.01,
          maxRssBytes: null,
          error: 'exit code 3',
        },
      ],
      total: 3,
      truncated: true,
      next: 8,
    },
  });
  expect(asked).toEqual([{ states: ['failed'], stage: 'a', from: 5, limit: 1 }]);
  expect(await read(`${url}/v1/jobs/a-1/tasks?limit=2001`)).toMatchObject({ status: 400 });
});

it('pages of results are contiguous although the indices of the job have gaps', async () => {
  const indices = [3, 7, 300, 301, 302];
  const tasks = { total: 5, waiting: 0, running: 0, completed: 5, failed: 0, cancelled: 0 };
  const result = { stage: 'tasks', state: 'completed', attempt: 1, exitCode: 0 };
  const files = { stdout: null, stderr: null };
  const url = await gatewayTo({
    job: () => ({
      describe: async () => ({ id: 'a-1', ...SUMMARY, state: 'completed', tasks }),
      resultsPage: async ({ from, max }: { from: number; max: number }) => {
        const left = indices.filter((index) => index >= from);
        const results = left
          .slice(0, max)
          .map((index) => ({ index, ...result, value: index, error: null, ...files }));
        return { results, next: left[max] };
      },
    }),
  });
  const read2 = async (from: number) => (await read(`${url}/v1/jobs/a-1/results?from=${from}&limit=2`)).body;
  expect(await read2(0)).toMatchObject({ results: [{ index: 3 }, { index: 7 }], truncated: true, next: 300 });
  expect(await read2(300)).toMatchObject({
    results: [{ index: 300 }, { index: 301 }],
    truncated: true,
    next: 302,
  });
  expect(await read2(302)).toMatchObject({
    results: [{ index: 302 }],
    total: 5,
    truncated: false,
    next: null,
  });
});

it('a job can be held, released and given another priority', async () => {
  const changes: unknown[] = [];
  const answer = (change: unknown) => {
    changes.push(change);
    return Promise.resolve({ id: 'a-1', ...SUMMARY, held: change === 'hold', beginAt: undefined });
  };
  const url = await gatewayTo({
    job: () => ({
      hold: () => answer('hold'),
      release: () => answer('release'),
      update: (change: object) => answer(change),
    }),
  });
  const post = async (path: string, body: object = {}) => {
    const headers = { 'content-type': 'application/json' };
    const sent = await fetch(`${url}/v1/jobs/a-1/${path}`, {
      method: 'POST',
      headers,
      body: JSON.stringify(body),
    });
    return { status: sent.status, body: await sent.json() };
  };
  expect(await post('hold')).toMatchObject({
    status: 200,
    body: { schema: 'goshawk.hold/1', job: 'a-1', id: 'a-1', held: true, beginAt: null },
  });
  expect(await post('release')).toMatchObject({ body: { schema: 'goshawk.release/1', held: false } });
  expect(await post('update', { priority: 'high' })).toMatchObject({
    status: 200,
    body: { schema: 'goshawk.update/1', priority: 'high' },
  });
  expect(await post('update', { priority: 'urgent' })).toMatchObject({ status: 400 });
  expect(await post('update')).toMatchObject({ status: 400 });
  expect(changes).toEqual(['hold', 'release', { priority: 'high' }]);
});

it('tasks of a job, and jobs that match a query, can be cancelled', async () => {
  const asked: unknown[] = [];
  const url = await gatewayTo({
    job: () => ({
      cancel: async () => ({ state: 'cancelled' }),
      cancelTasks: async (tasks: string, { stage }: { stage?: string }) => {
        asked.push([tasks, stage]);
        return { job: { id: 'a-1', ...SUMMARY }, cancelled: 3, killing: 1, ended: 2 };
      },
    }),
    cancelJobs: async ({ signal: _, ...options }: { signal: AbortSignal }) => {
      asked.push(options);
      return { jobs: 2, waiting: 5, running: 1, silent: [] };
    },
  });
  const post = async (path: string, body: object) => {
    const headers = { 'content-type': 'application/json' };
    const sent = await fetch(`${url}${path}`, { method: 'POST', headers, body: JSON.stringify(body) });
    return { status: sent.status, body: await sent.json() };
  };
  expect((await post('/v1/jobs/a-1/cancel', {})).body).toEqual({
    schema: 'goshawk.cancel/1',
    job: 'a-1',
    state: 'cancelled',
  });
  expect((await post('/v1/jobs/a-1/cancel', { tasks: '7-9', stage: 'train' })).body).toEqual({
    schema: 'goshawk.cancel/1',
    job: 'a-1',
    state: 'running',
    tasks: { cancelled: 3, killing: 1, ended: 2 },
  });
  expect((await post('/v1/jobs/cancel', { user: 'ann', name: 'etl-*', state: 'running' })).body).toEqual({
    schema: 'goshawk.cancelled/1',
    jobs: 2,
    tasks: { waiting: 5, running: 1 },
    silent: [],
  });
  expect(asked).toEqual([['7-9', 'train'], { states: ['running'], user: 'ann', name: 'etl-*' }]);
  expect(await post('/v1/jobs/cancel', { users: 'ann' })).toMatchObject({ status: 400 });
});

it('invalid names and numbers are refused', async () => {
  const url = await gatewayTo({});
  expect(await read(`${url}/v1/jobs/${'x'.repeat(600)}`)).toMatchObject({
    status: 400,
    body: { code: 'bad-request', message: expect.stringContaining('id') },
  });
  expect(await read(`${url}/v1/jobs/a-1/logs?task=`)).toMatchObject({
    status: 400,
    body: { code: 'bad-request', message: expect.stringContaining('task') },
  });
  expect(await read(`${url}/v1/jobs/a-1/logs?attempt=0`)).toMatchObject({
    status: 400,
    body: { code: 'bad-request', message: expect.stringContaining('attempt') },
  });
  expect(await read(`${url}/v1/jobs?states=running`)).toMatchObject({
    status: 400,
    body: {
      message: 'query: unknown parameter "states"',
      hint: 'known parameters are state, user, q, all, from, after, limit',
    },
  });
  expect(await read(`${url}/v1/why?task=3`)).toMatchObject({ status: 400 });
  expect(await read(`${url}/v1/workers/${'x'.repeat(200)}`)).toMatchObject({ status: 503 });
});

it.each([
  ['jobs?limit=', 'limit: expected number, not ""'],
  ['jobs?limit=0x10', 'limit: expected number, not "0x10"'],
  ['jobs?from=1e1', 'from: expected number, not "1e1"'],
  ['jobs?from=%205', 'from: expected number, not " 5"'],
  ['jobs?limit=1&limit=2', 'limit: expected number, not a list'],
  ['jobs?user=', 'user: expected string of at least 1'],
  ['usage?project=', 'project: expected string of at least 1'],
  ['jobs/a-1?wait=', 'wait: expected number, not ""'],
  ['stream?until=1e300', 'until: expected number, not "1e300"'],
])('GET /v1/%s is refused', async (path, message) => {
  const url = await gatewayTo({});
  expect(await read(`${url}/v1/${path}`)).toMatchObject({
    status: 400,
    body: { code: 'bad-request', message: expect.stringContaining(message) },
  });
});

it('a body with the key __proto__ is refused with the reason', async () => {
  const url = await gatewayTo({});
  const headers = { 'content-type': 'application/json' };
  const body = '{"tasks": [{"sleep": 1}], "require": {"__proto__": "x"}}';
  const answer = await fetch(`${url}/v1/jobs`, { method: 'POST', headers, body });
  expect(answer.status).toBe(400);
  expect(await answer.json()).toMatchObject({
    message: 'body: the keys __proto__ and constructor.prototype are not allowed',
  });
});

it('output is that of the last attempts, and says if earlier ones are left out', async () => {
  const asked: unknown[] = [];
  const url = await gatewayTo({
    job: () => ({
      async *logs({ attempt, onEarlierAttempts }: { attempt: unknown; onEarlierAttempts: () => void }) {
        asked.push(attempt);
        if (attempt === 'last') onEarlierAttempts();
        yield {
          task: 0,
          attempt: 2,
          stream: 'stdout',
          bytes: Buffer.from('a\n'),
          at: Date.UTC(2026, 10, 30),
        };
      },
    }),
  });
  const logs = async (query = '') => (await read(`${url}/v1/jobs/a-1/logs${query}`)).body;
  expect(await logs()).toMatchObject({
    chunks: [{ attempt: 2, at: '2026-11-30T00:00:00.000Z', text: 'a\n' }],
    earlierAttempts: true,
  });
  expect(await logs('?attempt=all')).toMatchObject({ earlierAttempts: false });
  expect(await logs('?attempt=2')).toMatchObject({ earlierAttempts: false });
  expect(asked).toEqual(['last', 'all', 2]);
});

it('requests that need no body may be posted without one', async () => {
  const url = await gatewayTo({
    drain: async (worker: string) => ({ worker, state: 'draining', running: 1 }),
    job: (id: string) => ({
      retry: async () => ({ id, acceptedState: 'running', tasksAgain: 2, tasksCompleted: 0 }),
    }),
  });
  const post = async (path: string) => {
    const headers = { 'content-type': 'application/json' };
    return (await fetch(`${url}${path}`, { method: 'POST', headers })).json();
  };
  expect(await post('/v1/workers/w1/drain')).toMatchObject({ schema: 'goshawk.drain/1', worker: 'w1' });
  expect(await post('/v1/jobs/a-1/retry')).toMatchObject({ schema: 'goshawk.retry/1', job: 'a-1', tasks: 2 });
});

it('a client that disconnects before the answer is not an error of the gateway', async () => {
  const failed = vi.fn();
  let asked = (): void => {};
  const isAsked = new Promise<void>((resolve) => {
    asked = resolve;
  });
  let isOver = false;
  const url = await gatewayTo(
    {
      job: () => ({
        describe: ({ signal }: { signal: AbortSignal }) =>
          new Promise((_, reject) => {
            asked();
            signal.addEventListener('abort', () => {
              isOver = true;
              reject(signal.reason);
            });
          }),
      }),
    },
    { failed },
  );
  const leaving = new AbortController();
  const left = fetch(`${url}/v1/jobs/a-1`, { signal: leaving.signal });
  await isAsked;
  leaving.abort();
  await expect(left).rejects.toThrow('aborted');
  await expect.poll(() => isOver).toBe(true);
  await read(`${url}/v1/session`);
  expect(failed).not.toHaveBeenCalled();
});

it('closes at once while the cluster does not answer', async () => {
  const aborted: unknown[] = [];
  const gateway = await openGateway({
    bind: '127.0.0.1:0',
    tokens: [],
    where: 'tcp://h:1',
    version: '0.1.0',
    connect: (signal) =>
      new Promise((_, reject) => {
        signal.addEventListener('abort', () => {
          aborted.push(signal.reason);
          reject(signal.reason);
        });
      }),
  });
  await gateway.close();
  expect(aborted).toHaveLength(1);
});

it('a job is refused if a job that it waits for never existed', async () => {
  const codes: Record<string, string> = { 'a-1': 'unknown-job', 'a-2': 'forgotten-job' };
  const job = (id: string) => ({
    describe: async () => {
      throw codes[id] === undefined ? new UnreachableError('unreachable', '') : new InputError(codes[id], id);
    },
  });
  const url = await gatewayTo({ job, submit: async () => ({ id: 'b-1', acceptedState: 'waiting' }) });
  const submit = async (after: object) => {
    const headers = { 'content-type': 'application/json' };
    const body = JSON.stringify({ tasks: [{ sleep: 1 }], ...after });
    const answer = await fetch(`${url}/v1/jobs`, { method: 'POST', headers, body });
    return { status: answer.status, body: await answer.json() };
  };
  for (const field of ['after', 'afterOk'])
    expect(await submit({ [field]: ['a-2', 'a-1'] })).toMatchObject({
      status: 404,
      body: { code: 'unknown-job' },
    });
  expect(await submit({ after: ['a-2'], afterOk: ['a-3'] })).toMatchObject({ status: 200 });
});

it('invalid cursors for a job are refused', async () => {
  const url = await gatewayTo({ submit: async () => ({ id: 'a-1', acceptedState: 'waiting' }) });
  const submit = async (job: object) => {
    const headers = { 'content-type': 'application/json' };
    const answer = await fetch(`${url}/v1/jobs`, { method: 'POST', headers, body: JSON.stringify(job) });
    return { status: answer.status, body: await answer.json() };
  };
  expect(await submit({ tasks: [{ sleep: 1 }, { exec: ['ls'], cwd: 'data' }] })).toMatchObject({
    status: 400,
    body: { code: 'bad-job', message: 'tasks[1].cwd: "data" is not an absolute path' },
  });
  expect(await submit({ tasks: { count: 2, run: { module: './work.js' } } })).toMatchObject({
    status: 400,
    body: { message: 'tasks.run.module: "./work.js" is not an absolute path' },
  });
  expect(await submit({ stages: [{ tasks: [{ exec: ['ls'], cwd: '.' }] }] })).toMatchObject({
    status: 400,
    body: { message: 'stages[0].tasks[0].cwd: "." is not an absolute path' },
  });
  const module = { module: 'work.js', cwd: '/srv' };
  const exec = { exec: ['ls'], cwd: '/srv' };
  expect(await submit({ tasks: [module, exec, { module: 'file:///srv/work.js' }] })).toMatchObject({
    status: 200,
  });
  expect(await submit({ stages: [null, 7], tasks: [null] })).toMatchObject({ status: 200 });
});

it('schedulers whose journal refuses records are listed under what needs attention', async () => {
  const journal = (full: number, away: number) => ({ takesNoJobs: { full, away } });
  const schedulers = { s2: journal(1, 0), s1: journal(0, 0), s0: journal(1, 0), s3: journal(0, 1) };
  const url = await gatewayTo({ counters: async () => ({ schedulers, workers: {}, silent: [] }) });
  await vi.waitFor(async () => {
    expect((await read(`${url}/v1/overview`)).body.attention).toEqual(
      expect.arrayContaining([
        expect.objectContaining({
          level: 'error',
          what: 's0, s2 take no new jobs: the disk of the journal is full',
        }),
        expect.objectContaining({
          what: 's3 takes no new jobs: the journal database does not respond',
        }),
      ]),
    );
  });
});

it('shows when and why a worker was lost', async () => {
  const worker = { name: 'w1', address: 'tcp://h:1!x/1', slots: 2, capacity: { cpu: 2 }, attributes: {} };
  const more = { partition: 'general', state: 'active', busy: 1, queued: 0, heardMsAgo: 0 };
  const none = { schedulers: [], schedulersAway: [], schedulersMissing: [], warnings: [], complete: true };
  const settings = { policy: { policy: 'goshawk' } };
  let isLost = false;
  const url = await gatewayTo({
    describe: async () => ({
      ...none,
      settings,
      workers: isLost ? [] : [{ ...worker, ...more }],
      lostWorkers: isLost
        ? [{ name: 'w1', address: worker.address, cause: 'its process ended', running: 1, lostMsAgo: 0 }]
        : [],
    }),
  });
  // The gateway polls more often while somebody reads its events.
  const reading = new AbortController();
  onTestFinished(() => reading.abort());
  await fetch(`${url}/v1/events`, { signal: reading.signal });
  const state = async () => (await read(`${url}/v1/workers/w1`)).body.state;
  await expect.poll(state).toBe('active');
  isLost = true;
  await expect.poll(state).toBe('lost');
  const { body } = await read(`${url}/v1/workers/w1`);
  expect(body).toMatchObject({
    lost: { at: expect.any(String), cause: 'its process ended', running: 1 },
    events: [{ state: 'seen' }, { state: 'lost', cause: 'its process ended' }],
  });
  expect(await read(`${url}/v1/workers/w2`)).toMatchObject({ status: 404 });
});

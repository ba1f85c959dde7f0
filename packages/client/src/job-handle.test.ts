import { once } from 'node:events';
import { createServer, type Socket } from 'node:net';
import { setImmediate } from 'node:timers/promises';
import type { JobEvent } from '@goshawk/core';
import { InputError } from '@goshawk/core';
import { describe, expect, expectTypeOf, test } from 'vitest';
import { JobCancelled, JobFailed, WaitTimeout } from './errors.js';
import { acceptingScheduler, detail, FAST, FakeCluster, summary } from './fake-cluster.fixture.js';
import type { EndedJob, EndedJobWithTasks, JobHandle } from './job-handle.js';
import type { LogGap } from './job-logs.js';
import type { Results } from './job-results.js';
import { type Script, ScriptedPeer } from './scripted-peer.fixture.js';
import type { JobSubmission } from './submission.js';

const bytes = (text: string) => new TextEncoder().encode(text);
const text = (of: Uint8Array) => new TextDecoder().decode(of);

async function withOwner(script: Script): Promise<FakeCluster> {
  return FakeCluster.start(1, () => script);
}

const ending =
  (job: object, more: object = {}): Script =>
  (message, { event, answer }) => {
    if (message.type === 'watchJob') event({ kind: 'ended', job, ...more });
    if (message.type === 'readResults') answer({ values: [{ task: 0, value: 'first' }], next: undefined });
  };

test('a wait with an invalid timeout is refused, and stops no other timer', async () => {
  await using fake = await FakeCluster.start(1);
  await using cluster = await fake.connect();
  const job = cluster.job('t0-1');
  for (const timeoutMs of [Number.NaN, -1, '5' as never])
    await expect(job.wait({ timeoutMs })).rejects.toMatchObject({ code: 'bad-timeout' });
  await expect(job.wait({ timeoutMs: 0 })).rejects.toThrow('did not end within 0 ms');
});

test.each([undefined, null, 5, {}])('%s is not the id of a job', async (id) => {
  await using fake = await FakeCluster.start(1);
  await using cluster = await fake.connect();
  expect(() => cluster.job(id as never)).toThrow(expect.objectContaining({ code: 'bad-id' }));
});

test('another value than tasks is refused', async () => {
  await using fake = await FakeCluster.start(1);
  await using cluster = await fake.connect();
  for (const tasks of [5, null, [null], {}])
    await expect(cluster.job('t0-1').cancelTasks(tasks as never)).rejects.toMatchObject({
      code: 'bad-tasks',
    });
});

test('appended tasks have a digest, by which the scheduler refuses others at the same indices', async () => {
  await using fake = await withOwner((message, { answer }) => {
    if (message.type === 'appendTasks') answer({ tasks: 2, digest: '', closed: false, state: 'running' });
  });
  await using cluster = await fake.connect();
  const append = (sleep: number, digest = '') =>
    cluster.job('t0-1').append({ first: 1, common: {}, each: [{ sleep }], digest, close: false, taken: 0 });
  for (const [sleep, digest] of [[1], [1], [2], [2, 'own']] as const) await append(sleep, digest);
  const digests = fake.schedulers[0]!.of('appendTasks').map(({ digest }) => digest);
  expect(digests[0]).toMatch(/^[0-9a-f]{64}$/);
  expect([digests[1] === digests[0], digests[2] === digests[0], digests[3]]).toEqual([true, false, 'own']);
});

describe('the tasks of a job', () => {
  const row = (index: number) => ({ index, stage: 'tasks', state: 'waiting', attempt: 0 });

  test('are paged, with the filters', async () => {
    await using fake = await withOwner((message, { answer }) => {
      if (message.type !== 'listTasks') return;
      const next = message.from + 2 < 5 ? message.from + 2 : undefined;
      const tasks = [row(message.from), ...(next === undefined ? [] : [row(message.from + 1)])];
      answer({ tasks, total: 5, next, submittedAt: 7 });
    });
    await using cluster = await fake.connect();
    const job = cluster.job('t0-1');
    const seen: number[] = [];
    for await (const { index } of job.tasks({ states: ['waiting'], stage: 'a' })) seen.push(index);
    expect(seen).toEqual([0, 1, 2, 3, 4]);
    const asked = { states: ['waiting'], stage: 'a', limit: 2_000 };
    expect(fake.schedulers[0]!.of('listTasks')).toMatchObject([
      { ...asked, from: 0 },
      { ...asked, from: 2 },
      { ...asked, from: 4 },
    ]);
    expect(await job.tasksPage({ from: 2, limit: 9_999 })).toMatchObject({
      total: 5,
      next: 4,
      submittedAt: 7,
    });
  });

  test('with an unknown state or an invalid cursor are refused without a request', async () => {
    await using fake = await FakeCluster.start(1);
    await using cluster = await fake.connect();
    const job = cluster.job('t0-1');
    await expect(job.tasksPage({ states: ['placed' as 'failed'] })).rejects.toMatchObject({
      code: 'bad-state',
    });
    await expect(job.tasksPage({ from: -1 })).rejects.toMatchObject({ code: 'bad-from' });
    await expect(job.tasksPage({ limit: 0 })).rejects.toMatchObject({ code: 'bad-limit' });
  });

  test('are an error, not an endless loop, if the pages of the owner do not advance', async () => {
    await using fake = await withOwner((message, { answer }) => {
      if (message.type === 'listTasks') answer({ tasks: [row(3)], total: 9, next: 3, submittedAt: 0 });
    });
    await using cluster = await fake.connect();
    await expect(cluster.job('t0-1').tasksPage()).rejects.toThrow('further tasks');
  });
});

test('a job can be held, released and given another priority', async () => {
  await using fake = await withOwner((message, { answer, refuse }) => {
    if (message.type !== 'updateJob') return;
    if (message.id === 't0-2') refuse('has-ended', 't0-2 has ended (failed)');
    else answer(summary(message.id, 'running', { held: message.held }));
  });
  await using cluster = await fake.connect();
  const job = cluster.job('t0-1');
  expect(await job.hold()).toMatchObject({ id: 't0-1', held: true });
  expect(await job.release()).toMatchObject({ held: false });
  await job.update({ priority: 'high' });
  expect(fake.schedulers[0]!.of('updateJob')).toMatchObject([
    { held: true, priority: undefined },
    { held: false },
    { held: undefined, priority: 'high' },
  ]);
  const refused = await cluster
    .job('t0-2')
    .hold()
    .catch((error: unknown) => error);
  expect(refused).toBeInstanceOf(InputError);
  expect(refused).toMatchObject({ code: 'has-ended' });
  expect(() => job.update({ priority: 'urgent' as 'high' })).toThrow('low, normal, high');
});

test('single tasks of a job can be cancelled', async () => {
  await using fake = await withOwner((message, { answer }) => {
    if (message.type !== 'cancelTasks') return;
    answer({ job: summary(message.id), cancelled: 3, killing: 1, ended: 0 });
  });
  await using cluster = await fake.connect();
  const job = cluster.job('t0-1');
  expect(await job.cancelTasks('7-9,3')).toMatchObject({ cancelled: 3, killing: 1, ended: 0 });
  await job.cancelTasks([5, 6, { first: 1, last: 2 }], { stage: 'train' });
  await job.cancelTasks(undefined, { stage: 'train' });
  expect(fake.schedulers[0]!.of('cancelTasks')).toMatchObject([
    {
      tasks: [
        { first: 3, last: 3 },
        { first: 7, last: 9 },
      ],
      stage: undefined,
    },
    {
      tasks: [
        { first: 1, last: 2 },
        { first: 5, last: 6 },
      ],
      stage: 'train',
    },
    { tasks: [], stage: 'train' },
  ]);
  await expect(job.cancelTasks([])).rejects.toMatchObject({ code: 'bad-tasks' });
  await expect(job.cancelTasks('7-')).rejects.toMatchObject({ code: 'bad-tasks' });
  await expect(job.cancelTasks([-1])).rejects.toMatchObject({ code: 'bad-tasks' });
});

test('jobs that match a query are cancelled at all schedulers, page by page', async () => {
  await using fake = await FakeCluster.start(2, () => (message, { answer }) => {
    if (message.type !== 'cancelJobs') return;
    const { from, ids, dryRun } = message;
    const tag = message.request;
    const found = dryRun ? [`t${tag}-${from}`, `t${tag}-${from + 1}`] : [];
    answer({ jobs: 2, waiting: 3, running: 1, next: from === 0 && !ids ? 9 : undefined, ids: found });
  });
  await using cluster = await fake.connect();
  const filters = { user: 'ann', name: 'etl-*', states: ['running'] as const };
  expect(await cluster.cancelJobs({ ...filters, dryRun: true })).toEqual({
    jobs: 8,
    waiting: 12,
    running: 4,
    silent: [],
    ids: expect.toSatisfy((ids: string[]) => new Set(ids).size === 8),
  });
  const asked = { ...filters, dryRun: true };
  expect(fake.schedulers[1]!.of('cancelJobs')).toMatchObject([
    { ...asked, from: 0 },
    { ...asked, from: 9 },
  ]);
  await expect(cluster.cancelJobs({})).rejects.toMatchObject({ code: 'usage' });
  await expect(cluster.cancelJobs({ all: true, ids: ['t0-1'] })).rejects.toMatchObject({ code: 'usage' });
});

test('jobs of a list are cancelled at their owners, and ids of nobody are ignored', async () => {
  await using fake = await FakeCluster.start(2, () => (message, { answer }) => {
    if (message.type === 'cancelJobs')
      answer({ jobs: message.ids!.length, waiting: 0, running: 0, next: undefined, ids: [] });
  });
  await using cluster = await fake.connect();
  const many = Array.from({ length: 1_100 }, (_, index) => `t0-${index + 1}`);
  const ids = [...many, 't1-7', 'zz-1'];
  expect(await cluster.cancelJobs({ ids })).toMatchObject({ jobs: 1_101, silent: [] });
  expect(fake.schedulers[0]!.of('cancelJobs').map((asked) => asked.ids!.length)).toEqual([500, 500, 100]);
  expect(fake.schedulers[1]!.of('cancelJobs')).toMatchObject([{ ids: ['t1-7'] }]);
});

test('a scheduler that returns while the jobs of others are cancelled is named as silent', async () => {
  await using fake = await FakeCluster.start(2, () => (message, { answer }) => {
    if (message.type !== 'cancelJobs') return;
    // The client learns meanwhile that it is back.
    void fake.central.waitFor('findSchedulers', 2).then(() => {
      setTimeout(() => answer({ jobs: 1, waiting: 0, running: 1, ids: ['t0-1'] }), 100);
    });
  });
  fake.listed = [0];
  fake.away = [1];
  await using cluster = await fake.connect({ rosterPauseMs: 0.001 });
  fake.listed = [0, 1];
  fake.away = [];
  const title = `scheduler s1 at ${fake.schedulers[1]!.endpoint}`;
  expect(await cluster.cancelJobs({ all: true })).toMatchObject({ jobs: 1, silent: [title] });
});

describe('waiting for a job', () => {
  test('returns its outcome and when it arrived', async () => {
    await using fake = await withOwner(ending(detail('t0-1', 'failed')));
    await using cluster = await fake.connect();
    const before = performance.now();
    const ended = await cluster.job('t0-1').wait();
    expect(ended).toMatchObject({ id: 't0-1', state: 'failed' });
    expect(ended.endedAtMs).toBeGreaterThanOrEqual(before);
    expect(ended.endedAtMs).toBeLessThanOrEqual(performance.now());
    expect(fake.schedulers[0]!.of('watchJob')).toMatchObject([{ id: 't0-1', detail: false }]);
  });

  test('in detail returns start and run time of each task', async () => {
    await using fake = await FakeCluster.start(1);
    await using cluster = await fake.connect();
    const ended = await cluster.job('t0-1').wait({ detail: true });
    expect(ended.starts).toEqual([1, 2, 3]);
    expect(ended.runs).toEqual([4, 5, 6]);
    expect(fake.schedulers[0]!.of('watchJob')).toMatchObject([{ detail: true }]);
  });

  test('ends after a timeout, and the job continues', async () => {
    await using fake = await withOwner((message, { event }) => {
      if (message.type === 'watchJob') event({ kind: 'progress', job: summary('t0-1') });
    });
    await using cluster = await fake.connect();
    const error = await cluster
      .job('t0-1')
      .wait({ timeoutMs: 30 })
      .catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(WaitTimeout);
    expect(error).toMatchObject({
      code: 'wait-timeout',
      message: 't0-1 did not end within 30 ms; it continues',
    });
    await fake.schedulers[0]!.waitFor('unwatch');
    expect(fake.schedulers[0]!.of('cancelJob')).toEqual([]);
  });

  test('ends with the reason of its signal, and unsubscribes', async () => {
    await using fake = await withOwner(() => {});
    await using cluster = await fake.connect();
    const abort = new AbortController();
    const waiting = cluster.job('t0-1').wait({ signal: abort.signal });
    await fake.schedulers[0]!.waitFor('watchJob');
    abort.abort(new Error('enough'));
    await expect(waiting).rejects.toThrow('enough');
    await fake.schedulers[0]!.waitFor('unwatch');
  });

  test('fails if its owner dies, with or without central', async () => {
    await using fake = await withOwner((message, { event }) => {
      if (message.type === 'watchJob') event({ kind: 'progress', job: summary('t0-1') });
    });
    await using cluster = await fake.connect({ ...FAST, requestTimeoutMs: 200 });
    const waiting = cluster.job('t0-1').wait();
    await fake.schedulers[0]!.waitFor('watchJob');
    await fake.schedulers[0]!.close();
    fake.listed = [];
    await expect(waiting).rejects.toMatchObject({ name: 'UnreachableError', code: 'owner-gone' });
    await expect(cluster.job('t0-1').wait()).rejects.toMatchObject({
      name: 'InputError',
      code: 'unknown-job',
    });
  });

  test('asks central again about an unknown scheduler', async () => {
    await using fake = await FakeCluster.start(2);
    fake.listed = [0];
    await using cluster = await fake.connect();
    fake.listed = [0, 1];
    expect((await cluster.job('t1-1').wait()).id).toBe('t1-1');
  });

  test('times out even while no process knows its owner', async () => {
    await using fake = await FakeCluster.start(1);
    fake.complete = false;
    await using cluster = await fake.connect({ ...FAST, requestTimeoutMs: 60_000 });
    await expect(cluster.job('t9-1').wait({ timeoutMs: 50 })).rejects.toBeInstanceOf(WaitTimeout);
  });

  test('on a closed connection ends at once, and a later abort has no effect', async () => {
    await using fake = await withOwner(() => {});
    const cluster = await fake.connect();
    await cluster.close();
    const abort = new AbortController();
    const problems: unknown[] = [];
    // An error in a listener of a signal is an uncaught exception.
    const note = (error: unknown) => problems.push(error);
    process.on('uncaughtException', note);
    try {
      const { signal } = abort;
      for (const options of [{ signal }, { signal, timeoutMs: 60_000 }])
        await expect(cluster.job('t0-1').wait(options)).rejects.toMatchObject({ code: 'closed' });
      abort.abort();
      await setImmediate();
    } finally {
      process.off('uncaughtException', note);
    }
    expect(problems).toEqual([]);
  });

  test.each(['t7-1', 't7', '-1', ''])('of %j reports that the job is unknown', async (id) => {
    await using fake = await FakeCluster.start(1);
    await using cluster = await fake.connect();
    await expect(cluster.job(id).wait()).rejects.toMatchObject({
      name: 'InputError',
      code: 'unknown-job',
      message: `no scheduler of this cluster knows "${id}"`,
    });
  });

  test('of a thousand jobs at once costs one timer', async () => {
    await using fake = await withOwner((message, { event }) => {
      if (message.type === 'watchJob') event({ kind: 'progress', job: summary(message.id) });
    });
    await using cluster = await fake.connect({ renewMs: 60_000, retryMs: 60_000, requestTimeoutMs: 60_000 });
    const timers = () => process.getActiveResourcesInfo().filter((kind) => kind === 'Timeout').length;
    const before = timers();
    const waits = Array.from({ length: 1_000 }, (_, index) =>
      cluster
        .job(`t0-${index}`)
        .wait()
        .catch((thrown: unknown) => thrown),
    );
    await fake.schedulers[0]!.waitFor('watchJob', 1_000);
    expect(timers() - before).toBeLessThanOrEqual(1);
    await cluster.close();
    expect(new Set((await Promise.all(waits)).map((error) => (error as { code: string }).code))).toEqual(
      new Set(['closed']),
    );
  });
});

describe('the result of a job', () => {
  test('is the value of each task, over any number of pages', async () => {
    await using fake = await withOwner((message, { answer, event }) => {
      if (message.type === 'watchJob') event({ kind: 'ended', job: detail('t0-1') });
      if (message.type !== 'readResults') return;
      if (message.from === 0) answer({ values: [{ task: 0, value: { a: 1 } }], next: 2 });
      else answer({ values: [{ task: 2, value: 'two' }], next: undefined });
    });
    await using cluster = await fake.connect();
    expect(await cluster.job('t0-1').result()).toEqual([{ a: 1 }, undefined, 'two']);
  });

  test('of a failed job is an error with the failures of its tasks', async () => {
    const failures = [
      { task: 1, attempts: 2, kind: 'failed', code: 'exit', message: 'exited with 3', worker: 'w1' },
    ];
    const tasks = { total: 3, waiting: 0, running: 0, completed: 2, failed: 1, cancelled: 0 };
    await using fake = await withOwner(ending(detail('t0-1', 'failed', { failures, tasks })));
    await using cluster = await fake.connect();
    const error = await cluster
      .job('t0-1')
      .result()
      .catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(JobFailed);
    expect(error).toMatchObject({
      code: 'job-failed',
      message: 't0-1 failed: 1 of 3 tasks; task 1: exited with 3',
      failures,
      values: ['first', undefined, undefined],
      job: { state: 'failed' },
    });
  });

  test('of a cancelled job is a distinct error', async () => {
    await using fake = await withOwner(ending(detail('t0-1', 'cancelled')));
    await using cluster = await fake.connect();
    await expect(cluster.job('t0-1').result()).rejects.toThrow(JobCancelled);
  });

  test('that never ends is an error, not an endless loop', async () => {
    await using fake = await withOwner((message, { answer, event }) => {
      if (message.type === 'watchJob') event({ kind: 'ended', job: detail('t0-1') });
      if (message.type === 'readResults') answer({ values: [], next: message.from });
    });
    await using cluster = await fake.connect();
    await expect(cluster.job('t0-1').result()).rejects.toMatchObject({ code: 'bad-answer' });
  });
});

describe('a job whose indices have gaps', () => {
  const indices = [3, 7, 8, 11, 40];
  const row = (task: number) => ({ task, stage: 'tasks', state: 'completed', attempt: 1, value: task });

  /** A scheduler that answers with two results at a time. */
  const inPairs = () =>
    withOwner((message, { answer, event }) => {
      if (message.type === 'watchJob') event({ kind: 'ended', job: detail('t0-1') });
      if (message.type !== 'readResults') return;
      const left = indices.filter((index) => index >= message.from);
      const [tasks, next] = [left.slice(0, 2).map(row), left[2]];
      if (message.order === undefined)
        answer({ values: tasks.map(({ task }) => ({ task, value: task })), next });
      else answer({ values: [], tasks, next });
    });

  test.each([1, 2, 3, 4, 5, 6])('yields each result once in pages of %i', async (max) => {
    await using fake = await inPairs();
    await using cluster = await fake.connect();
    const job = cluster.job('t0-1');
    const read: number[] = [];
    let pages = 0;
    for (let from: number | undefined = 0; from !== undefined; pages++) {
      const page: Results = await job.resultsPage({ from, max });
      read.push(...page.results.map(({ index }) => index));
      from = page.next;
    }
    expect(read).toEqual(indices);
    expect(pages).toBe(Math.ceil(indices.length / max));
  });

  test('yields each result once in pages of one reply each', async () => {
    await using fake = await inPairs();
    await using cluster = await fake.connect();
    const { next, results } = await cluster.job('t0-1').resultsPage({ pages: 1 });
    expect(results.map(({ index }) => index)).toEqual([3, 7]);
    expect(next).toBe(8);
    expect((await cluster.job('t0-1').results({ from: next! })).map(({ index }) => index)).toEqual([
      8, 11, 40,
    ]);
  });

  test('has its values at these indices, and undefined in the gaps', async () => {
    await using fake = await inPairs();
    await using cluster = await fake.connect();
    const values = await cluster.job('t0-1').result();
    expect(values).toEqual(Array.from({ length: 41 }, (_, at) => (indices.includes(at) ? at : undefined)));
    expect(Object.keys(values)).toHaveLength(41);
  });
});

describe('results as tasks end', () => {
  const row = (task: number) => ({ task, stage: 'tasks', state: 'completed', attempt: 1, value: task });

  /** Times (ms) between reads that each find this many results, with news of more. */
  async function gaps(together: number): Promise<number[]> {
    const readAt: number[] = [];
    await using fake = await withOwner((message, { answer, event }) => {
      if (message.type === 'watchJob')
        setInterval(() => event({ kind: 'progress', job: summary('t0-1') }), 2).unref();
      if (message.type !== 'readResults') return;
      readAt.push(performance.now());
      const tasks = Array.from({ length: together }, (_, at) => row(message.from + at));
      answer({ values: [], tasks, next: undefined });
    });
    await using cluster = await fake.connect();
    let read = 0;
    for await (const _ of cluster.job('t0-1').eachResult({ order: 'completed' }))
      if (++read === 6 * together) break;
    return readAt.slice(1).map((at, index) => at - readAt[index]!);
  }

  test('are read in fewer requests if many end together', async () => {
    // A busy machine delays single reads, so the test uses the mean of many gaps, or the shortest of few.
    const many = await gaps(20);
    expect(many.reduce((sum, gap) => sum + gap, 0) / many.length).toBeGreaterThan(40);
    expect(Math.min(...(await gaps(1)))).toBeLessThan(40);
  });
});

describe('a request about a job', () => {
  const silentOwner = () =>
    FakeCluster.start(2, (index) => (index === 0 ? () => {} : acceptingScheduler('t1')));

  test('whose scheduler is disconnected reports this, and when the job is available again', async () => {
    await using fake = await silentOwner();
    fake.listed = [1];
    fake.away = [0];
    await using cluster = await fake.connect({ ...FAST, requestTimeoutMs: 200 });
    await expect(cluster.job('t0-1').describe()).rejects.toMatchObject({
      code: 'owner-away',
      message: `t0-1 belongs to scheduler s0 at ${fake.schedulers[0]!.endpoint}, which is down`,
      hint: expect.stringContaining('data folder'),
    });
  });

  test('whose scheduler has crashed fails soon, although central has not noticed', async () => {
    await using fake = await silentOwner();
    await fake.schedulers[0]!.close();
    await using cluster = await fake.connect({ ...FAST, requestTimeoutMs: 600_000, absentTimeoutMs: 30 });
    const job = cluster.job('t0-1');
    const requests = [job.describe(), job.wait(), job.cancel(), job.resultsPage()];
    for (const outcome of await Promise.allSettled(requests)) {
      expect(outcome).toMatchObject({
        reason: {
          code: 'owner-away',
          message: expect.stringContaining(`scheduler s0 at ${fake.schedulers[0]!.endpoint}, which is down`),
        },
      });
    }
  });

  test('whose scheduler stops listening while the request is open fails soon, too', async () => {
    await using fake = await silentOwner();
    const port = Number(new URL(fake.schedulers[0]!.endpoint).port);
    await fake.schedulers[0]!.close();
    // A process that hangs: it accepts connections and says nothing.
    const hung = createServer().listen(port, '127.0.0.1');
    await once(hung, 'listening');
    await using cluster = await fake.connect({ ...FAST, requestTimeoutMs: 600_000, absentTimeoutMs: 30 });
    const sockets: Socket[] = [];
    hung.on('connection', (socket) => {
      sockets.push(socket.on('error', () => {}));
      // The client and its first probe have connected.
      if (sockets.length < 2) return;
      hung.close();
      for (const each of sockets) each.destroy();
    });
    const asked = cluster.job('t0-1').describe();
    await expect(asked).rejects.toMatchObject({ code: 'owner-away' });
  });

  test('whose scheduler does not listen yet waits for it', async () => {
    await using fake = await silentOwner();
    await fake.schedulers[0]!.close();
    await using cluster = await fake.connect(FAST);
    const asked = cluster.job('t0-1').describe();
    await using later = await ScriptedPeer.start((_message, { answer }) =>
      answer(detail('t0-1'), 'jobDetail'),
    );
    fake.schedulers[0] = later;
    expect((await asked).id).toBe('t0-1');
  });

  test('whose scheduler is silent, but not known to be disconnected, gives no cause', async () => {
    await using fake = await silentOwner();
    await using cluster = await fake.connect({ ...FAST, requestTimeoutMs: 200 });
    await expect(cluster.job('t0-1').describe()).rejects.toMatchObject({ code: 'unreachable' });
  });
});

describe('the events of a job', () => {
  test('are progress and the end; a slow reader may miss progress, but never the end', async () => {
    await using fake = await withOwner((message, { event }) => {
      if (message.type !== 'watchJob') return;
      for (let done = 0; done < 10; done++)
        event({ kind: 'progress', job: summary('t0-1', 'running', { done }) });
      event({ kind: 'ended', job: detail('t0-1') });
    });
    await using cluster = await fake.connect();
    const events: JobEvent[] = [];
    for await (const event of cluster.job('t0-1').events()) events.push(event);
    expect(events.at(-1)).toMatchObject({ kind: 'ended' });
    expect(events.length).toBeLessThanOrEqual(2);
  });

  test('stop when the reader stops', async () => {
    await using fake = await withOwner((message, { event }) => {
      if (message.type === 'watchJob') event({ kind: 'progress', job: summary('t0-1') });
    });
    await using cluster = await fake.connect();
    for await (const event of cluster.job('t0-1').events()) {
      expect(event.kind).toBe('progress');
      break;
    }
    await fake.schedulers[0]!.waitFor('unwatch');
  });

  test('throw the reason of their signal', async () => {
    await using fake = await withOwner(() => {});
    await using cluster = await fake.connect();
    const abort = new AbortController();
    const next = cluster.job('t0-1').events({ signal: abort.signal }).next();
    await fake.schedulers[0]!.waitFor('watchJob');
    abort.abort(new Error('enough'));
    await expect(next).rejects.toThrow('enough');
  });
});

describe('the output of a job', () => {
  const chunk = (task: number, what: string, attempt = 1, stream = 'stdout') => ({
    task,
    attempt,
    stream,
    bytes: bytes(what),
    at: 1_764_403_200_000,
  });

  test('is read page by page until there is no more', async () => {
    await using fake = await withOwner((message, { answer }) => {
      if (message.type !== 'readLogs') return;
      if (message.cursor === 0)
        answer({ chunks: [chunk(0, 'a'), chunk(1, 'b')], next: 2, atEnd: true, done: false, dropped: false });
      // An empty page still has the cursor of the next page.
      else if (message.cursor === 2)
        answer({ chunks: [], next: 5, atEnd: true, done: false, dropped: false });
      else answer({ chunks: [], next: 5, atEnd: true, done: false, dropped: false });
    });
    await using cluster = await fake.connect();
    const read: string[] = [];
    for await (const { task, bytes: of } of cluster.job('t0-1').logs()) read.push(`${task}${text(of)}`);
    expect(read).toEqual(['0a', '1b']);
    expect(fake.schedulers[0]!.of('readLogs').map(({ cursor }) => cursor)).toEqual([0, 2, 5]);
  });

  test('is followed until the job has ended, with the given filters', async () => {
    await using fake = await withOwner((message, { answer }, times) => {
      if (message.type !== 'readLogs') return;
      if (times < 4) answer({ chunks: [], next: 0, atEnd: true, done: false, dropped: false });
      else answer({ chunks: [chunk(2, 'end')], next: 1, atEnd: true, done: true, dropped: true });
    });
    await using cluster = await fake.connect();
    const read: string[] = [];
    let gaps = 0;
    const options = { follow: true, task: 2, failed: true, onDropped: () => gaps++ };
    for await (const { bytes: of } of cluster.job('t0-1').logs(options)) read.push(text(of));
    expect(read).toEqual(['end']);
    expect(gaps).toBe(1);
    expect(fake.schedulers[0]!.of('readLogs')[0]).toMatchObject({ task: 2, failedOnly: true });
  });

  test('says where some of it is missing', async () => {
    const at = (offset: number, of: object) => ({ ...of, offset });
    const chunks = [
      ...[at(0, chunk(0, 'abc')), at(3, chunk(0, 'd')), at(9, chunk(0, 'j')), at(2, chunk(1, 'c'))],
      ...[at(0, chunk(0, 'a', 2)), at(1, chunk(0, '', 2)), at(8, chunk(0, '', 2))],
    ];
    await using fake = await withOwner((message, { answer }) => {
      if (message.type === 'readLogs') answer({ chunks, next: 7, atEnd: true, done: true, dropped: false });
    });
    await using cluster = await fake.connect();
    const read: string[] = [];
    const onDropped = (gap?: LogGap) => read.push(`… ${gap?.bytes} of ${gap?.task}/${gap?.attempt}`);
    for await (const { bytes: of } of cluster.job('t0-1').logs({ onDropped })) read.push(text(of));
    const [first, second, third] = ['… 5 of 0/1', '… 2 of 1/1', '… 7 of 0/2'];
    expect(read).toEqual(['abc', 'd', first, 'j', second, 'c', 'a', third]);
  });

  test.each([
    ['the last attempt by default', {}, [0, 0]],
    ['a single attempt', { attempt: 3 }, [3, 3]],
    ['all attempts', { attempt: 'all' }, [undefined, undefined]],
    ['the last attempt and those that start later', { follow: true }, [0, undefined]],
  ] as const)('is that of %s', async (_, options, asked) => {
    const page = { chunks: [], next: 1, atEnd: true, hasEarlier: true };
    await using fake = await withOwner((message, { answer }) => {
      if (message.type !== 'readLogs') return;
      answer({ ...page, done: message.cursor > 0, dropped: false });
    });
    await using cluster = await fake.connect();
    let earlier = 0;
    const onEarlierAttempts = () => earlier++;
    for await (const _ of cluster.job('t0-1').logs({ ...options, onEarlierAttempts }));
    expect(fake.schedulers[0]!.of('readLogs').map(({ attempt }) => attempt)).toEqual(asked);
    expect(earlier).toBe(1);
  });

  test.each([0, 1.5, -1, Number.NaN])('has no attempt %d', async (attempt) => {
    await using fake = await withOwner(() => {});
    await using cluster = await fake.connect();
    const read = async () => {
      for await (const _ of cluster.job('t0-1').logs({ attempt }));
    };
    await expect(read()).rejects.toMatchObject({ code: 'bad-attempt' });
  });

  test('that a restarted scheduler has again is not repeated', async () => {
    const at = (offset: number, of: object) => ({ ...of, offset });
    const again = [at(0, chunk(0, 'ab')), at(0, chunk(1, 'x')), at(2, chunk(0, 'cd')), at(4, chunk(0, 'ef'))];
    await using fake = await withOwner((message, { answer }) => {
      if (message.type !== 'readLogs') return;
      if (message.cursor === 0)
        answer({ chunks: [at(0, chunk(0, 'abc'))], next: 1, atEnd: true, done: false, dropped: false });
      else answer({ chunks: again, next: 5_000, atEnd: true, done: true, dropped: false });
    });
    await using cluster = await fake.connect();
    const read: string[] = [];
    const onDropped = () => read.push('…');
    for await (const { bytes: of } of cluster.job('t0-1').logs({ onDropped })) read.push(text(of));
    expect(read).toEqual(['abc', 'x', 'd', 'ef']);
  });

  test.each([
    ['of one task is what its last attempt printed, by stream', 2, ['new', 'oops', false]],
    ['of one task is nothing while its last attempt has printed nothing', 3, ['', '', false]],
  ])('%s', async (_, attempts, printed) => {
    const chunks = [chunk(0, 'old'), chunk(0, 'ne', 2), chunk(0, 'oops', 2, 'stderr'), chunk(0, 'w', 2)];
    const story = { ...{ task: 0, stage: 'tasks', state: 'running', isPilot: false }, attempts, waitedMs: 1 };
    await using fake = await withOwner((message, { answer }) => {
      if (message.type === 'readLogs') answer({ chunks, next: 4, atEnd: true, done: true, dropped: false });
      if (message.type === 'explainJob')
        answer({
          ...{ job: summary(message.id), owner: 's0', number: 1, task: story, waiting: [], probes: [] },
          ...{ probesOut: 0, probesMoved: 0, matches: 0, placed: [], wastedMs: 0 },
        });
    });
    await using cluster = await fake.connect();
    const { stdout, stderr, isTruncated } = await cluster.job('t0-1').output(0);
    expect([text(stdout), text(stderr), isTruncated]).toEqual(printed);
  });
});

describe('a handle', () => {
  test('describes, cancels and retries its job', async () => {
    await using fake = await withOwner((message, { answer }) => {
      if (message.type === 'describeJob')
        answer(detail(message.id, 'completed', { spec: message.spec ? {} : null }));
      if (message.type === 'cancelJob') answer(summary(message.id, 'cancelled'));
      if (message.type === 'retryJob') answer({ job: 't0-2', state: 'waiting' });
    });
    await using cluster = await fake.connect();
    const job = cluster.job('t0-1');
    expect(job.sentAtMs).toBeUndefined();
    expect(await job.describe({ spec: true })).toMatchObject({ id: 't0-1', spec: {} });
    expect(await job.cancel()).toMatchObject({ state: 'cancelled' });
    const retried = await job.retry({ key: 'again' });
    expect(retried.id).toBe('t0-2');
    expect(retried.sentAtMs).toBeGreaterThan(0);
    expect(fake.schedulers[0]!.of('retryJob')).toMatchObject([{ id: 't0-1', key: 'again' }]);
  });

  test('accepts read-only lists', () => {
    const tasks = [{ exec: ['ls', '-l'] }, { sleep: '1s' }] as const;
    const require: Readonly<Record<string, readonly string[]>> = { zone: ['a'] };
    expectTypeOf({ tasks, require }).toExtend<JobSubmission>();
  });

  test('has the types of the request', () => {
    type Handle = JobHandle<{ is: number }>;
    expectTypeOf<Handle['result']>().returns.resolves.toEqualTypeOf<({ is: number } | undefined)[]>();
    const wait = {} as Handle['wait'];
    expectTypeOf(() => wait()).returns.resolves.toEqualTypeOf<EndedJob>();
    expectTypeOf(() => wait({ detail: true })).returns.resolves.toEqualTypeOf<EndedJobWithTasks>();
    expectTypeOf<Handle['retry']>().returns.resolves.toExtend<Handle>();
  });
});

import { compareCursors, cursorOf } from '@goshawk/core';
import { describe, expect, test } from 'vitest';
import { FAST, FakeCluster, summary } from './fake-cluster.fixture.js';
import { type Script, ScriptedPeer } from './scripted-peer.fixture.js';

const listing =
  (jobs: object[], total = jobs.length): Script =>
  (message, { answer }) => {
    if (message.type === 'listJobs') answer({ jobs, total });
  };

describe('the jobs of a cluster', () => {
  test('are those of all schedulers: active ones by age, then ended ones, latest first', async () => {
    const lists = [
      [
        summary('t0-2', 'running', { submittedAt: 30 }),
        summary('t0-1', 'failed', { submittedAt: 1, endedMs: 9 }),
      ],
      [
        summary('t1-2', 'waiting', { submittedAt: 20 }),
        summary('t1-1', 'completed', { submittedAt: 5, endedMs: 15 }),
      ],
    ];
    await using fake = await FakeCluster.start(2, (index) => listing(lists[index]!));
    await using cluster = await fake.connect();
    const { jobs, total, truncated, silent } = await cluster.jobs();
    expect(jobs.map(({ id }) => id)).toEqual(['t1-2', 't0-2', 't1-1', 't0-1']);
    expect({ total, truncated, silent }).toEqual({ total: 4, truncated: false, silent: [] });
  });

  test('are truncated after the filters, with the total', async () => {
    const active = (tag: string) =>
      [1, 2, 3].map((n) => summary(`${tag}-${n}`, 'running', { submittedAt: n }));
    await using fake = await FakeCluster.start(2, (index) => listing(active(`t${index}`), 50));
    await using cluster = await fake.connect();
    const { jobs, total, truncated } = await cluster.jobs({ states: ['running'], user: 'ada', limit: 4 });
    expect([jobs.length, total, truncated]).toEqual([4, 100, true]);
    expect(fake.schedulers[0]!.of('listJobs')).toMatchObject([
      { states: ['running'], user: 'ada', jobsMax: 4, endedMax: 10 },
    ]);
    await expect(cluster.jobs({ limit: 0 })).rejects.toMatchObject({ name: 'InputError', code: 'bad-limit' });
    for (const states of [['bogus'], 'running'])
      await expect(cluster.jobs({ states: states as never })).rejects.toMatchObject({ code: 'bad-state' });
    for (const deadlineMs of [-1, Number.NaN])
      await expect(cluster.drain('w0', true, { deadlineMs })).rejects.toMatchObject({ code: 'bad-deadline' });
    for (const [work, inputs, code] of [
      [undefined, [1], 'bad-module'],
      [{ module: '/m.mjs', exprt: 'run' }, [1], 'bad-module'],
      [{ module: '/m.mjs' }, 5, 'bad-inputs'],
    ])
      await expect(
        (async () => await cluster.map(work as never, inputs as never).next())(),
      ).rejects.toMatchObject({ code });
  });

  test('include only the last ten ended ones, unless all are requested', async () => {
    const ended = (tag: string) =>
      Array.from({ length: 8 }, (_, n) =>
        summary(`${tag}-${n}`, 'completed', { submittedAt: n, endedMs: 1 }),
      );
    await using fake = await FakeCluster.start(2, (index) => listing(ended(`t${index}`)));
    await using cluster = await fake.connect();
    expect(await cluster.jobs()).toMatchObject({ jobs: { length: 10 }, total: 16, truncated: true });
    expect(await cluster.jobs({ all: true })).toMatchObject({ jobs: { length: 16 }, truncated: false });
  });

  test('are paged, for any number of jobs', async () => {
    const active = Array.from({ length: 20_000 }, (_, n) =>
      summary(`t0-${n}`, 'running', { submittedAt: n }),
    );
    await using fake = await FakeCluster.start(1, () => (message, { answer }) => {
      if (message.type !== 'listJobs') return;
      const { where: { after } = {}, jobsMax } = message;
      const left = active.filter((job) => after === undefined || compareCursors(cursorOf(job), after) > 0);
      const jobs = left.slice(0, Math.min(jobsMax, 7_000));
      const reached = jobs.length < left.length ? cursorOf(jobs.at(-1)!) : undefined;
      answer({ jobs, total: active.length, reached });
    });
    await using cluster = await fake.connect();
    const page = async (from: number, limit: number) => {
      const { jobs, next, truncated } = await cluster.jobs({ from, limit });
      return [jobs[0]?.id, jobs.length, next, truncated];
    };
    expect(await page(0, 6_000)).toEqual(['t0-0', 6_000, 6_000, true]);
    expect(await page(14_000, 4_000)).toEqual(['t0-14000', 4_000, 18_000, true]);
    expect(await page(18_000, 4_000)).toEqual(['t0-18000', 2_000, undefined, false]);
    const { cursor } = await cluster.jobs({ limit: 10_000 });
    const rest = await cluster.jobs({ after: cursor, limit: 10_000 });
    expect([rest.jobs[0]!.id, rest.jobs.length, rest.cursor]).toEqual(['t0-10000', 10_000, undefined]);
    await expect(cluster.jobs({ after: 'x' })).rejects.toMatchObject({ code: 'bad-cursor' });
  });

  test('name a disconnected scheduler, whose jobs are missing', async () => {
    await using fake = await FakeCluster.start(2, () => listing([]));
    fake.listed = [0];
    fake.away = [1];
    await using cluster = await fake.connect();
    const missing = [`scheduler s1 at ${fake.schedulers[1]!.endpoint}`];
    expect((await cluster.jobs()).silent).toEqual(missing);
  });

  test('name a disconnected scheduler only until it is back, and ask central once per second', async () => {
    await using fake = await FakeCluster.start(2, (index) => listing([summary(`t${index}-1`)]));
    fake.listed = [0];
    fake.away = [1];
    await using cluster = await fake.connect({ rosterPauseMs: 1_000 });
    const startedAt = performance.now();
    let isBackAt = Number.POSITIVE_INFINITY;
    for (;;) {
      const { jobs, silent } = await cluster.jobs();
      expect(jobs.length + silent.length).toBe(2);
      if (silent.length === 0) break;
      expect(performance.now() - isBackAt).toBeLessThan(5_000);
      if (isBackAt === Number.POSITIVE_INFINITY && performance.now() - startedAt > 1_500) {
        fake.listed = [0, 1];
        fake.away = [];
        isBackAt = performance.now();
      }
    }
    const seconds = (performance.now() - startedAt) / 1_000;
    expect(fake.central.of('findSchedulers').length).toBeLessThanOrEqual(2 + seconds);
  });

  test('look for the new address of a scheduler that is silent', async () => {
    const lists: Script[] = [listing([summary('t0-1')]), () => {}, listing([summary('t2-1')])];
    await using fake = await FakeCluster.start(3, (index) => lists[index]!);
    fake.listed = [0, 1];
    await using cluster = await fake.connect({ pollTimeoutMs: 500, retryMs: 100 });
    fake.listed = [0, 2];
    expect((await cluster.jobs()).silent).toHaveLength(1);
    await expect.poll(() => cluster.jobs(), { timeout: 10_000 }).toMatchObject({ silent: [], total: 2 });
  });

  test('lack those of a silent scheduler, and say so', async () => {
    const lists: Script[] = [listing([summary('t0-1')]), () => {}];
    await using fake = await FakeCluster.start(2, (index) => lists[index]!);
    await using cluster = await fake.connect({ pollTimeoutMs: 500 });
    const { jobs, silent } = await cluster.jobs();
    expect(jobs.map(({ id }) => id)).toEqual(['t0-1']);
    expect(silent).toEqual([`scheduler s1 at ${fake.schedulers[1]!.endpoint}`]);
  });

  test('are an error if no scheduler answers', async () => {
    await using fake = await FakeCluster.start(1, () => () => {});
    await using cluster = await fake.connect({ pollTimeoutMs: 100 });
    await expect(cluster.jobs()).rejects.toMatchObject({ name: 'UnreachableError' });
  });
});

describe('the cluster', () => {
  test('drains a worker by its name', async () => {
    await using fake = await FakeCluster.start(0);
    await using cluster = await fake.connect();
    fake.central.script = (message, { answer, refuse }) => {
      if (message.type !== 'drainWorker') return;
      if (message.worker === 'w1')
        answer({ worker: 'w1', state: message.on ? 'draining' : 'active', running: 2 });
      else refuse('unknown-worker', `there is no worker ${message.worker}`);
    };
    expect(await cluster.drain('w1')).toEqual({ worker: 'w1', state: 'draining', running: 2 });
    expect(await cluster.drain('w1', false)).toMatchObject({ state: 'active' });
    await expect(cluster.drain('w2')).rejects.toMatchObject({ name: 'InputError', code: 'unknown-worker' });
  });

  test('sends no expired drain request to a central that starts later', async () => {
    await using fake = await FakeCluster.start(0);
    await using cluster = await fake.connect({ ...FAST, requestTimeoutMs: 100 });
    await fake.central.close();
    await expect(cluster.drain('w1')).rejects.toMatchObject({ code: 'unreachable' });
    const script: Script = (message, replies) => {
      fake.tell(message, replies);
      if (message.type === 'drainWorker')
        replies.answer({ worker: message.worker, state: 'draining', running: 0 });
    };
    await using central = await ScriptedPeer.start(script, fake.central.endpoint);
    // This request reaches central, and an earlier one would have arrived before it.
    await expect.poll(() => cluster.drain('w2').catch(() => undefined)).toMatchObject({ worker: 'w2' });
    expect(central.of('drainWorker').map(({ worker }) => worker)).not.toContain('w1');
  });

  test('sums the counters of all processes', async () => {
    const counting =
      (name: string, tasks: number): Script =>
      (message, { answer }) => {
        if (message.type === 'readCounters') answer({ name, tasks, sent: { probe: tasks } });
      };
    await using fake = await FakeCluster.start(3, (index) =>
      index < 2 ? counting(`s${index}`, index + 1) : () => {},
    );
    const worker = {
      name: 'w',
      address: fake.schedulers[0]!.party,
      slots: 1,
      capacity: { cpus: 1 },
      attributes: [],
      partition: 'general',
      state: 'active',
      busy: 0,
      queued: 0,
      heardMsAgo: 0,
    };
    fake.central.script = (message, replies) => {
      fake.tell(message, replies, 'central', [worker]);
      if (message.type === 'readCounters') replies.answer({ name: 'central', placed: 7 });
    };
    await using cluster = await fake.connect({ pollTimeoutMs: 500 });
    expect(await cluster.counters()).toEqual({
      central: { placed: 7 },
      schedulers: { s0: { tasks: 1, sent: { probe: 1 } }, s1: { tasks: 2, sent: { probe: 2 } } },
      workers: { w: { tasks: 1, sent: { probe: 1 } } },
      totals: {
        schedulers: { tasks: 3, sent: { probe: 3 } },
        workers: { tasks: 1, sent: { probe: 1 } },
        all: { placed: 7, tasks: 4, sent: { probe: 4 } },
      },
      silent: [`scheduler s2 at ${fake.schedulers[2]!.endpoint}`],
    });
  });

  test('that is closed rejects all calls, and may be closed repeatedly', async () => {
    await using fake = await FakeCluster.start(1);
    const cluster = await fake.connect();
    await cluster.close();
    await cluster.close();
    await expect(cluster.describe()).rejects.toMatchObject({ code: 'closed' });
    await expect(cluster.job('t0-1').wait()).rejects.toMatchObject({ code: 'closed' });
  });

  test('whose central was restarted is the same cluster', async () => {
    await using fake = await FakeCluster.start(1);
    await using cluster = await fake.connect(FAST);
    await fake.central.close();
    await using central = await ScriptedPeer.start((message, replies) => {
      fake.tell(message, replies, 'again');
    }, fake.central.endpoint);
    expect((await cluster.describe()).name).toBe('again');
    expect(central.received).not.toEqual([]);
  });
});

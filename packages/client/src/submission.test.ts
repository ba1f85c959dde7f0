import { rendezvous } from '@goshawk/core';
import { describe, expect, test } from 'vitest';
import { acceptingScheduler, FAST, FakeCluster, IMPATIENT } from './fake-cluster.fixture.js';
import { type Script, ScriptedPeer } from './scripted-peer.fixture.js';

const job = { name: 'j', tasks: [{ sleep: 1 }] };

function namesOf(fake: FakeCluster) {
  return fake.listed.map((index) => ({ name: `s${index}`, index }));
}

/** The scheduler that a key belongs to. */
function ownerOf(fake: FakeCluster, key: string): number {
  return rendezvous(key, namesOf(fake))!.index;
}

const drainingScheduler: Script = (message, { refuse }) => {
  if (message.type === 'submit') refuse('draining', 'this scheduler is shutting down');
};

describe('submitting', () => {
  test('sends the job with its key and user, and returns its id and when it was sent', async () => {
    await using fake = await FakeCluster.start(1);
    await using cluster = await fake.connect();
    const before = performance.now();
    const handle = await cluster.submit({ ...job, key: 'mine' });
    expect(handle.id).toBe('t0-1');
    expect(handle.acceptedState).toBe('waiting');
    expect(handle.sentAtMs).toBeGreaterThanOrEqual(before);
    expect(handle.sentAtMs).toBeLessThanOrEqual(performance.now());
    expect(fake.schedulers[0]!.of('submit')).toMatchObject([{ key: 'mine', spec: { ...job, user: 'ada' } }]);
  });

  test.each([undefined, null, 'hostname'])('refuses %j as a job', async (nothing) => {
    await using fake = await FakeCluster.start(1);
    await using cluster = await fake.connect();
    await expect(cluster.submit(nothing as unknown as typeof job)).rejects.toMatchObject({
      name: 'InputError',
      code: 'bad-job',
    });
  });

  test('spreads jobs over all schedulers, and sends one key to the same scheduler from any client', async () => {
    await using fake = await FakeCluster.start(4);
    await using one = await fake.connect();
    await using other = await fake.connect();
    const keys = Array.from({ length: 100 }, (_, index) => `key-${index}`);
    const ids = (cluster: typeof one) =>
      Promise.all(keys.map(async (key) => (await cluster.submit({ ...job, key })).id));
    expect(await ids(one)).toEqual(await ids(other));
    for (const scheduler of fake.schedulers) {
      const received = scheduler.of('submit');
      expect(received.length).toBeGreaterThan(20);
      expect(new Set(received.map(({ key }) => key)).size).toBe(received.length / 2);
    }
  });

  test.each(['', 'x'.repeat(257), 'a\ud800b'])('refuses %j as a key', async (key) => {
    await using fake = await FakeCluster.start(1);
    await using cluster = await fake.connect();
    await expect(cluster.submit({ ...job, key })).rejects.toMatchObject({
      name: 'InputError',
      code: 'bad-key',
    });
    expect(fake.schedulers[0]!.of('submit')).toEqual([]);
  });

  test('goes to the next scheduler if the first one is shutting down', async () => {
    await using fake = await FakeCluster.start(3);
    await using cluster = await fake.connect();
    const first = ownerOf(fake, 'k');
    const second = rendezvous('k', namesOf(fake), new Set([`s${first}`]))!.index;
    fake.schedulers[first]!.script = drainingScheduler;
    expect((await cluster.submit({ ...job, key: 'k' })).id).toBe(`t${second}-1`);
  });

  test('goes to another scheduler if the first one is full, unless it has a key', async () => {
    const full: Script = (message, { refuse }) => {
      if (message.type === 'submit') refuse('journal-full', '5 MiB are free, and 80 MiB are needed');
    };
    await using fake = await FakeCluster.start(3, (index) => (index === 1 ? acceptingScheduler('t1') : full));
    await using cluster = await fake.connect();
    for (let i = 0; i < 5; i++) expect((await cluster.submit(job)).id).toMatch(/^t1-/);
    const key = ['a', 'b', 'c', 'd', 'e', 'f', 'g'].find((each) => ownerOf(fake, each) !== 1)!;
    await expect(cluster.submit({ ...job, key })).rejects.toMatchObject({ code: 'journal-full' });
    fake.schedulers[1]!.script = full;
    await expect(cluster.submit(job)).rejects.toMatchObject({
      code: 'journal-full',
      message: '5 MiB are free, and 80 MiB are needed',
    });
  });

  test('goes to another scheduler if the journal of the first one is away, unless it has a key', async () => {
    const away: Script = (message, { refuse }) => {
      if (message.type === 'submit') refuse('journal-unavailable', 'too many connections', '', 5);
    };
    await using fake = await FakeCluster.start(3, (index) => (index === 1 ? acceptingScheduler('t1') : away));
    await using cluster = await fake.connect({ ...FAST, requestTimeoutMs: 500 });
    for (let i = 0; i < 5; i++) expect((await cluster.submit(job)).id).toMatch(/^t1-/);
    const key = ['a', 'b', 'c', 'd', 'e', 'f', 'g'].find((each) => ownerOf(fake, each) !== 1)!;
    await expect(cluster.submit({ ...job, key })).rejects.toMatchObject({ code: 'journal-unavailable' });
  });

  test('is accepted once a journal is back, if all were away', async () => {
    const away: Script = (message, { refuse }) => {
      if (message.type === 'submit') refuse('journal-unavailable', 'no answer', '', 5);
    };
    await using fake = await FakeCluster.start(3, () => away);
    await using cluster = await fake.connect();
    const refusals: string[] = [];
    const submitted = cluster.submit(job, { onRefused: ({ code }) => refusals.push(code) });
    for (const scheduler of fake.schedulers) await scheduler.waitFor('submit');
    await expect.poll(() => refusals).toEqual(['journal-unavailable']);
    for (const [index, scheduler] of fake.schedulers.entries())
      scheduler.script = acceptingScheduler(`t${index}`);
    expect((await submitted).id).toMatch(/^t\d-1$/);
  });

  test('fails if all are shutting down', async () => {
    await using fake = await FakeCluster.start(2, () => drainingScheduler);
    await using cluster = await fake.connect();
    await expect(cluster.submit(job)).rejects.toMatchObject({
      name: 'UnreachableError',
      code: 'draining',
      message: 'all schedulers of the cluster are shutting down',
    });
  });

  test('goes to the successor of its scheduler as soon as central reports it', async () => {
    await using fake = await FakeCluster.start(1, () => () => {});
    await using cluster = await fake.connect();
    const [silent] = fake.schedulers;
    const submitted = cluster.submit({ ...job, key: 'k' });
    await silent!.waitFor('submit');
    fake.schedulers[0] = await ScriptedPeer.start(acceptingScheduler('t0'));
    // The client retries automatically only after seconds.
    await cluster.describe();
    expect((await submitted).id).toBe('t0-1');
    await silent!.close();
  });

  test('without an answer reports that the job may have been accepted', async () => {
    await using fake = await FakeCluster.start(1, () => () => {});
    await using cluster = await fake.connect(IMPATIENT);
    const error = await cluster.submit(job).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({
      code: 'unreachable',
      message: expect.stringMatching(/; it may have accepted the job$/),
      hint: expect.stringContaining('--key'),
    });
  });

  test('goes elsewhere if its scheduler is silent and central no longer lists it', async () => {
    await using fake = await FakeCluster.start(3);
    await using cluster = await fake.connect(FAST);
    const first = ownerOf(fake, 'k');
    fake.schedulers[first]!.script = () => {};
    const submitted = cluster.submit({ ...job, key: 'k' });
    await fake.schedulers[first]!.waitFor('submit', 2);
    fake.listed = fake.listed.filter((index) => index !== first);
    expect((await submitted).id).toBe(`t${ownerOf(fake, 'k')}-1`);
  });

  test('on which a scheduler fails is sent to no other scheduler', async () => {
    await using fake = await FakeCluster.start(3, () => (message, { refuse }) => {
      if (message.type === 'submit') refuse('internal-error', 's0 failed on this submit: a bug in goshawk');
    });
    await using cluster = await fake.connect();
    await expect(cluster.submit(job)).rejects.toMatchObject({ code: 'internal-error' });
    expect(fake.schedulers.flatMap(({ received }) => received)).toHaveLength(1);
  });

  test('without a key is sent to another scheduler if the first one is lost', async () => {
    await using fake = await FakeCluster.start(2, () => () => {});
    await using cluster = await fake.connect(FAST);
    const submitted = cluster.submit(job);
    const first = await Promise.race([0, 1].map((i) => fake.schedulers[i]!.waitFor('submit').then(() => i)));
    const other = 1 - first;
    fake.schedulers[other]!.script = acceptingScheduler(`t${other}`);
    fake.listed = [other];
    fake.away = [first];
    const { id, warning } = await submitted;
    expect(id).toBe(`t${other}-1`);
    expect(warning).toContain(`scheduler s${first} at `);
    expect(warning).toContain('was lost before it answered, and may run this job as well');
  });

  test('without a key is sent to another scheduler if nothing listens at the address of the first one', async () => {
    await using fake = await FakeCluster.start(2);
    await fake.schedulers[0]!.close();
    await using cluster = await fake.connect({ ...FAST, requestTimeoutMs: 600_000, absentTimeoutMs: 30 });
    for (let count = 0; count < 10; count++) expect((await cluster.submit(job)).id).toMatch(/^t1-/);
    const key = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'].find((some) => ownerOf(fake, some) === 0)!;
    await expect(cluster.submit({ ...job, key })).rejects.toMatchObject({
      code: 'not-running',
    });
  });

  test.each([
    'over-limit',
    'bad-job',
    'journal-full',
    'journal-unavailable',
    'draining',
    'overloaded',
    'unexpected',
  ])('refused (%s) by another scheduler reports that the lost one may have accepted it', async (code) => {
    await using fake = await FakeCluster.start(2, () => () => {});
    await using cluster = await fake.connect({ ...FAST, requestTimeoutMs: 2_000 });
    const submitted = cluster.submit(job);
    const first = await Promise.race([0, 1].map((i) => fake.schedulers[i]!.waitFor('submit').then(() => i)));
    fake.schedulers[1 - first]!.script = (message, { refuse }) => {
      if (message.type === 'submit') refuse(code, 'no', '', code === 'overloaded' ? 10_000 : undefined);
    };
    fake.listed = [1 - first];
    fake.away = [first];
    await expect(submitted).rejects.toMatchObject({
      name: 'OutcomeUnknownError',
      message: expect.stringMatching(new RegExp(`; scheduler s${first} at .* may have accepted the job$`)),
    });
  });

  test.each([
    [undefined, 'no-schedulers', (first: number) => `; scheduler s${first} at .* may have accepted the job$`],
    ['k', 'owner-away', (first: number) => `^the key k .* s${first} .*; it may have accepted the job$`],
  ])(
    'may have been accepted by a scheduler that did not answer and is away at the end (key %s)',
    async (key, code, words) => {
      await using fake = await FakeCluster.start(2, () => () => {});
      await using cluster = await fake.connect({ ...FAST, requestTimeoutMs: 2_000 });
      const submitted = cluster.submit({ ...job, key });
      const first = await Promise.race(
        [0, 1].map((i) => fake.schedulers[i]!.waitFor('submit').then(() => i)),
      );
      fake.schedulers[1 - first]!.script = (message, { refuse }) => {
        fake.listed = [];
        if (message.type === 'submit') refuse('other-scheduler', 'no');
      };
      fake.listed = [1 - first];
      fake.away = [first];
      await expect(submitted).rejects.toMatchObject({
        name: 'OutcomeUnknownError',
        code,
        message: expect.stringMatching(new RegExp(words(first))),
      });
    },
  );

  test('that its scheduler has applied but not written goes to no other one', async () => {
    const pending: Script = (message, { refuse }, times) => {
      if (message.type === 'submit') refuse('journal-pending', 'pending', '', times < 3 ? 1 : undefined);
    };
    await using fake = await FakeCluster.start(3, () => pending);
    await using cluster = await fake.connect();
    await expect(cluster.submit(job)).rejects.toMatchObject({
      name: 'OutcomeUnknownError',
      code: 'journal-pending',
      message: 'pending',
    });
    expect(fake.schedulers.filter(({ received }) => received.length > 0)).toHaveLength(1);
  });

  test('stays with its scheduler if a new scheduler joins that would own the key', async () => {
    await using fake = await FakeCluster.start(3);
    const last = ownerOf(fake, 'k');
    fake.listed = fake.listed.filter((index) => index !== last);
    const first = ownerOf(fake, 'k');
    await using cluster = await fake.connect(FAST);
    const oblige = fake.schedulers[first]!.script;
    fake.schedulers[first]!.script = () => {};
    const submitted = cluster.submit({ ...job, key: 'k' });
    await fake.schedulers[first]!.waitFor('submit');
    fake.listed = [0, 1, 2];
    // Two more requests: by then the new list is known.
    await fake.central.waitFor('findSchedulers', 3);
    fake.schedulers[first]!.script = oblige;
    expect((await submitted).id).toBe(`t${first}-1`);
  });

  test('waits for a scheduler in a cluster without one', async () => {
    await using fake = await FakeCluster.start(1);
    fake.listed = [];
    await using cluster = await fake.connect(FAST);
    const submitted = cluster.submit(job);
    await fake.central.waitFor('findSchedulers', 3);
    fake.listed = [0];
    expect((await submitted).id).toBe('t0-1');
    fake.listed = [];
  });

  test('fails if there is no scheduler for too long', async () => {
    await using fake = await FakeCluster.start(0);
    // Enough for central's answer on a busy machine.
    await using cluster = await fake.connect({ ...FAST, requestTimeoutMs: 1_000 });
    await expect(cluster.submit(job)).rejects.toMatchObject({
      name: 'UnreachableError',
      code: 'no-schedulers',
    });
  });

  test('names the lost schedulers if none is left', async () => {
    await using fake = await FakeCluster.start(1);
    fake.listed = [];
    fake.away = [0];
    await using cluster = await fake.connect({ ...FAST, requestTimeoutMs: 1_000 });
    await expect(cluster.submit(job)).rejects.toMatchObject({
      code: 'no-schedulers',
      message: expect.stringMatching(/no answer from scheduler s0 at tcp:/),
    });
  });

  test('works while central is down', async () => {
    await using fake = await FakeCluster.start(2);
    await using cluster = await fake.connect({ rosterAgeMaxMs: 1 });
    await fake.central.close();
    const handle = await cluster.submit(job);
    expect((await handle.wait()).state).toBe('completed');
  });

  test('learns of new schedulers over time', async () => {
    await using fake = await FakeCluster.start(2);
    fake.listed = [0];
    await using cluster = await fake.connect({ rosterAgeMaxMs: 1 });
    fake.listed = [0, 1];
    for (let i = 0; fake.schedulers[1]!.received.length === 0; i++)
      await cluster.submit({ ...job, key: `key-${i}` });
    expect(fake.schedulers[1]!.of('submit')).toHaveLength(1);
  });

  test('reports why the scheduler refused the job', async () => {
    await using fake = await FakeCluster.start(1, () => (_message, { refuse }) => {
      refuse('impossible-demand', 'no worker has 64 cpus; the closest, w3, has 8', 'ask for less');
    });
    await using cluster = await fake.connect();
    await expect(cluster.submit(job)).rejects.toMatchObject({
      name: 'InputError',
      code: 'impossible-demand',
      hint: 'ask for less',
    });
  });

  test('of hundreds at once needs one message each', async () => {
    await using fake = await FakeCluster.start(3, (index) => acceptingScheduler(`t${index}`));
    await using cluster = await fake.connect({ retryMs: 5_000, requestTimeoutMs: 20_000 });
    const handles = await Promise.all(Array.from({ length: 500 }, () => cluster.submit(job)));
    expect(new Set(handles.map(({ id }) => id)).size).toBe(500);
    expect(fake.schedulers.reduce((sum, { received }) => sum + received.length, 0)).toBe(500);
  });
});

import { describe, expect, test } from 'vitest';
import { connect } from './connect.js';
import { detail, FAST, FakeCluster, IMPATIENT } from './fake-cluster.fixture.js';
import { missingTitle } from './roster.js';
import { ScriptedPeer } from './scripted-peer.fixture.js';

/** Two schedulers; each knows one job. */
function start(): Promise<FakeCluster> {
  return FakeCluster.start(2, () => (message, { answer }) => {
    if (message.type === 'describeJob') answer(detail(message.id, 'running'));
  });
}

describe('a central that has just started and does not know all schedulers yet', () => {
  test('does not remove unlisted schedulers before it knows all', async () => {
    await using fake = await start();
    await using cluster = await fake.connect(FAST);
    fake.listed = [0];
    fake.complete = false;
    expect((await cluster.describe()).schedulers).toHaveLength(1);
    expect(await cluster.job('t1-1').describe()).toMatchObject({ id: 't1-1', state: 'running' });
    fake.complete = true;
    await cluster.describe();
    await expect(cluster.job('t1-1').describe()).rejects.toMatchObject({ code: 'unknown-job' });
  });

  test('is asked again before a job is reported as unknown', async () => {
    await using fake = await start();
    fake.listed = [0];
    fake.complete = false;
    await using cluster = await fake.connect(FAST);
    const asked = cluster.job('t1-1').describe();
    await fake.central.waitFor('findSchedulers', 3);
    fake.listed = [0, 1];
    expect(await asked).toMatchObject({ id: 't1-1' });
    const unknown = cluster.job('t2-1').describe();
    await fake.central.waitFor('findSchedulers', 6);
    fake.complete = true;
    await expect(unknown).rejects.toMatchObject({ code: 'unknown-job' });
  });
});

test('a central with a new address is found through a scheduler', async () => {
  await using before = await FakeCluster.start(1);
  await using after = await start();
  let { central } = before;
  await using seed = await ScriptedPeer.start((message, { answer }) => {
    if (message.type !== 'findSchedulers') return;
    const party = `${central.endpoint}!*/0`;
    answer({ name: 'seed', tag: 't9', central: party, workers: 0 }, 'introduction');
  });
  await using cluster = await connect(seed.endpoint, IMPATIENT);
  await before.central.close();
  await expect(cluster.job('t1-1').describe()).rejects.toMatchObject({ name: 'UnreachableError' });
  central = after.central;
  await expect.poll(() => cluster.job('t1-1').describe(), { timeout: 10_000 }).toMatchObject({ id: 't1-1' });
});

test('schedulers that only others name count as silent until central lists them', async () => {
  await using fake = await FakeCluster.start(1, () => (message, { answer }) => {
    if (message.type === 'listJobs') answer({ jobs: [], total: 0 });
    if (message.type !== 'findSchedulers') return;
    const party = `${fake.central.endpoint}!*/0`;
    answer({ name: 's0', tag: 't0', central: party, workers: 0, others: ['s1'] }, 'introduction');
  });
  const tell = fake.central.script;
  fake.central.script = () => {};
  await using cluster = await connect(fake.schedulers[0]!.endpoint, IMPATIENT);
  const unknown = 'scheduler s1, whose address is unknown while central is silent';
  expect(await cluster.jobs()).toMatchObject({ silent: [unknown] });
  fake.central.script = tell;
  await expect.poll(async () => (await cluster.jobs()).silent, { timeout: 10_000 }).toEqual([]);
});

test('polls of all schedulers count a missing one as silent unless others have its jobs', async () => {
  await using fake = await FakeCluster.start(1, () => (message, { answer }) => {
    if (message.type === 'listJobs') answer({ jobs: [], total: 0 });
  });
  const lost = { jobs: 0, shared: false, missingMs: 8_000 };
  fake.missing = [
    { name: 'taken-over', takenOver: true, ...lost },
    { name: 'local', takenOver: false, ...lost },
  ];
  await using cluster = await fake.connect(FAST);
  expect(await cluster.jobs()).toMatchObject({ silent: ['scheduler local, lost 8 s ago'] });
});

test.each([
  [undefined, 'scheduler s0, not connected since central started (8 s ago)'],
  [0, 'scheduler s0, lost 8 s ago'],
  [2, 'scheduler s0, lost 8 s ago with 2 jobs'],
])('a missing scheduler with %s jobs is titled: %s', (jobs, title) => {
  expect(missingTitle({ name: 's0', tag: undefined, jobs, shared: false, missingMs: 8000 })).toBe(title);
});

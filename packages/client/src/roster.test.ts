import { describe, expect, test } from 'vitest';
import { detail, FAST, FakeCluster } from './fake-cluster.fixture.js';

/** Two schedulers; each knows one job. */
function start(): Promise<FakeCluster> {
  return FakeCluster.start(2, () => (message, { answer }) => {
    if (message.type === 'describeJob') answer(detail(message.id, 'running'));
  });
}

describe('a central that was just started and has not heard of all schedulers', () => {
  test('makes nobody forget one that it does not name, until it has', async () => {
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

  test('is asked again before it is said that there is no job', async () => {
    await using fake = await start();
    fake.listed = [0];
    fake.complete = false;
    await using cluster = await fake.connect(FAST);
    const asked = cluster.job('t1-1').describe();
    await fake.central.hears('findSchedulers', 3);
    fake.listed = [0, 1];
    expect(await asked).toMatchObject({ id: 't1-1' });
    const unknown = cluster.job('t2-1').describe();
    await fake.central.hears('findSchedulers', 6);
    fake.complete = true;
    await expect(unknown).rejects.toMatchObject({ code: 'unknown-job' });
  });
});

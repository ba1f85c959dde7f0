import type { Cluster } from '@goshawk/client';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ContainerCluster } from './cluster.fixture.js';
import { missing, named } from './docker.fixture.js';

const SCHEDULERS = 2;
const WORKERS = 4;

describe.skipIf(missing !== undefined)(named('a cluster of containers'), () => {
  let cluster: ContainerCluster;
  let client: Cluster;

  beforeAll(async () => {
    cluster = await ContainerCluster.start(SCHEDULERS, WORKERS);
    client = await cluster.client();
    await cluster.known(SCHEDULERS, WORKERS);
  });

  afterAll(() => cluster?.[Symbol.asyncDispose]());

  test('every role reports that it is ready', async () => {
    for (const name of ['central', 'scheduler0', 'worker0']) {
      expect(await cluster.container(name).exec(['goshawk-ready'])).toMatchObject({
        exitCode: 0,
        output: '',
      });
    }
  });

  test('a job runs encrypted on several of its machines, and its output is returned', async () => {
    const job = await client.submit({
      tasks: { count: 8, run: { exec: ['sh', '-c', 'hostname; sleep 0.2'], cwd: '/' } },
    });
    expect(await job.wait()).toMatchObject({ state: 'completed' });
    const hosts = new Set<string>();
    for await (const { bytes } of job.logs()) hosts.add(Buffer.from(bytes).toString().trim());
    expect(hosts.size).toBeGreaterThan(1);
    const status = await cluster.container('worker0').exec(['goshawk-ready']);
    expect(status.exitCode).toBe(0);
  });

  test('clients without a key of the cluster are refused, even inside its network', async () => {
    const ask = ['goshawk', 'jobs', '--cluster', `tcp://${cluster.network}-central:7070`];
    const { exitCode, output } = await cluster
      .container('worker0')
      .exec(['env', '-u', 'GOSHAWK_KEY', ...ask]);
    expect(output).toMatch(/accepts only clients with a key/);
    expect(exitCode).toBe(3);
  });

  test('no job is lost while workers join and leave', async () => {
    const job = await client.submit({ tasks: { count: 60, run: { sleep: 200 } } });
    await cluster.add('worker', 'worker9');
    await cluster.known(SCHEDULERS, WORKERS + 1);
    await Promise.all([cluster.remove('worker9'), cluster.remove(`worker${WORKERS - 1}`)]);
    expect(await job.wait()).toMatchObject({ state: 'completed' });
    await cluster.add('worker', `worker${WORKERS - 1}`);
    await cluster.known(SCHEDULERS, WORKERS);
  });

  const FAULTS: Readonly<Record<string, (name: string) => Promise<() => Promise<void>>>> = {
    'is killed and started again': async (name) => {
      await cluster.signal(name, 'SIGKILL');
      return () => cluster.startAgain(name);
    },
    'is paused for a while': async (name) => {
      await cluster.pause(name);
      return () => cluster.unpause(name);
    },
    'is cut off for a while': (name) => cluster.disconnect(name),
  };
  test.for(['scheduler0', 'worker0'])(
    '%s exits when its address changes, and is found at the new one after a restart',
    async (name) => {
      const job = await client.submit({ tasks: { count: 40, run: { sleep: 150 } } });
      expect(await cluster.move(name)).toBe(1);
      await cluster.startAgain(name);
      expect(await job.wait()).toMatchObject({ state: 'completed' });
      await cluster.known(SCHEDULERS, WORKERS);
    },
  );

  const CASES = ['central', 'scheduler0', 'worker0'].flatMap((name) =>
    Object.keys(FAULTS).map((fault) => [name, fault] as const),
  );

  test.for(CASES)('%s %s: the others continue, and every job ends', async ([name, fault]) => {
    const jobs = await Promise.all(
      Array.from({ length: 6 }, () => client.submit({ tasks: { count: 10, run: { sleep: 150 } } })),
    );
    const mend = await FAULTS[fault]!(name);
    const during = await client.submit({ tasks: { count: 5, run: { sleep: 50 } } });
    expect(await during.wait()).toMatchObject({ state: 'completed' });
    await mend();
    for (const job of jobs) expect(await job.wait()).toMatchObject({ state: 'completed' });
    await cluster.known(SCHEDULERS, WORKERS);
  });
});

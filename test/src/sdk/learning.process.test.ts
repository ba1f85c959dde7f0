import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect } from '@goshawk/client';
import { type ClusterSettings, DEFAULT_POLICY, LIVE_TIMINGS } from '@goshawk/core';
import { type Daemon, startCentral, startScheduler, startWorkers } from '@goshawk/runtime';
import { SILENT_LOGGER } from '@goshawk/transport';
import { afterEach, expect, test } from 'vitest';

const SETTINGS: ClusterSettings = {
  policy: { ...DEFAULT_POLICY, cutoffMs: 60_000, estimator: 'history' },
  timings: LIVE_TIMINGS,
};
const common = { bind: 'tcp://127.0.0.1:0', logger: SILENT_LOGGER };

const running: Daemon[] = [];
let folder = '';
afterEach(async () => {
  for (const daemon of running.splice(0).reverse()) await daemon.stop();
  await rm(folder, { recursive: true, force: true });
});

test('a restarted scheduler knows the run times of similar jobs', async () => {
  folder = await mkdtemp(join(tmpdir(), 'goshawk-learning-'));
  const estimatorStateFile = join(folder, 'learnt.json');
  const central = await startCentral({ ...common, settings: SETTINGS });
  running.push(central);
  const startOne = () =>
    startScheduler({ ...common, name: 's0', central: central.endpoint, estimatorStateFile });
  const first = await startOne();
  const workers = await startWorkers({
    ...common,
    names: ['w0'],
    slots: 2,
    capacity: { cpus: 2 },
    central: central.endpoint,
    dataFolder: folder,
  });
  running.push(workers);
  await Promise.all([first.joined, workers.joined]);
  expect(await sleepThrice(central, 'nightly')).not.toHaveProperty('estimateMs', expect.anything());
  await first.stop();
  expect(JSON.parse(await readFile(estimatorStateFile, 'utf8'))).toMatchObject({
    schema: 'goshawk.learnt/1',
  });

  const second = await startOne();
  running.push(second);
  await second.joined;
  const { estimateMs, classifiedBy } = await sleepThrice(central, 'nightly');
  expect(classifiedBy).toMatch(/^history: /);
  expect(estimateMs).toBeGreaterThanOrEqual(30);
  expect(estimateMs).toBeLessThan(60_000);
});

async function sleepThrice(central: Daemon, name: string) {
  const cluster = await connect(central.endpoint);
  try {
    const job = await cluster.submit({ name, user: 'ada', tasks: { count: 3, run: { sleep: 30 } } });
    return await job.wait({ detail: true });
  } finally {
    await cluster.close();
  }
}

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect } from '@goshawk/client';
import { type ClusterSettings, DEFAULT_POLICY, LIVE_TIMINGS } from '@goshawk/core';
import { presetNamed } from '@goshawk/policies';
import { type Daemon, startCentral, startScheduler, startWorkers } from '@goshawk/runtime';
import { SILENT_LOGGER } from '@goshawk/transport';
import { afterEach, expect, test } from 'vitest';

const policy = { ...DEFAULT_POLICY, policy: 'goshawk', preset: presetNamed('goshawk'), cutoffJobs: 0 };
const SETTINGS: ClusterSettings = { policy, timings: LIVE_TIMINGS };
const common = { bind: 'tcp://127.0.0.1:0', logger: SILENT_LOGGER };

const running = new Set<Daemon>();
let folder = '';
afterEach(async () => {
  for (const daemon of [...running].reverse()) await daemon.stop();
  running.clear();
  await rm(folder, { recursive: true, force: true });
});

test('a cluster learns its cutoff from completed jobs, and knows it after a restart of central', async () => {
  folder = await mkdtemp(join(tmpdir(), 'goshawk-cutoff-'));
  const started = (daemon: Daemon): Daemon => {
    running.add(daemon);
    return daemon;
  };
  const central = started(await startCentral({ ...common, settings: SETTINGS }));
  const { endpoint } = central;
  const scheduler = started(await startScheduler({ ...common, name: 's0', central: endpoint }));
  const capacity = { cpus: 2 };
  const workers = started(
    await startWorkers({
      ...common,
      names: ['w0'],
      slots: 20,
      capacity,
      central: endpoint,
      dataFolder: folder,
    }),
  );
  await Promise.all([scheduler.joined, workers.joined]);
  await using cluster = await connect(endpoint);
  const submit = (sleep: number) => cluster.submit({ estimate: sleep, tasks: { count: 1, run: { sleep } } });
  const jobs = await Promise.all(Array.from({ length: 120 }, (_, i) => submit(i % 12 === 0 ? 1_500 : 10)));
  await Promise.all(jobs.map((job) => job.wait()));
  const settings = async () => (await cluster.describe()).settings.policy;
  await expect.poll(settings, { timeout: 30_000 }).toMatchObject({ cutoffJobs: 120 });
  const { cutoffMs } = await settings();
  // The boundary between the classes is lower than the minimum of a learned cutoff.
  expect(cutoffMs).toBe(1_000);
  const long = await submit(1_100);
  expect((await long.describe()).class).toBe('long');

  await central.stop();
  running.delete(central);
  started(await startCentral({ ...common, bind: endpoint, settings: SETTINGS }));
  await expect.poll(settings, { timeout: 30_000 }).toMatchObject({ cutoffMs });
});

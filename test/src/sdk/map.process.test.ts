import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Cluster, connect, JobFailed, type TaskResult } from '@goshawk/client';
import { type ClusterSettings, DEFAULT_POLICY, LIVE_TIMINGS } from '@goshawk/core';
import { type Daemon, startCentral, startScheduler, startWorkers } from '@goshawk/runtime';
import { SILENT_LOGGER } from '@goshawk/transport';
import { afterAll, beforeAll, expect, test } from 'vitest';

const SETTINGS: ClusterSettings = { policy: DEFAULT_POLICY, timings: LIVE_TIMINGS };
const common = { bind: 'tcp://127.0.0.1:0', logger: SILENT_LOGGER };

let central: Daemon;
let scheduler: Daemon;
let workers: Daemon;
let cluster: Cluster;
let folder: string;
/** Squares its input, and creates a file for each call; fails for 13 and 113. */
let module: string;

function startOwner(): Promise<Daemon> {
  const journal = { folder: join(folder, 's0'), version: '0' };
  return startScheduler({ ...common, name: 's0', central: central.endpoint, journal });
}

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'goshawk-map-'));
  module = join(folder, 'square.mjs');
  await writeFile(
    module,
    `import { appendFileSync } from 'node:fs';
export default ({ n, note }) => {
  if (note) appendFileSync(note + '/' + n, '.');
  if (n % 100 === 13) throw new Error('unlucky ' + n);
  return n * n;
};
`,
  );
  central = await startCentral({ ...common, settings: SETTINGS });
  scheduler = await startOwner();
  workers = await startWorkers({
    ...common,
    names: ['w0', 'w1'],
    slots: 2,
    capacity: {},
    central: central.endpoint,
    dataFolder: folder,
  });
  await Promise.all([scheduler, workers].map(({ joined }) => joined));
  cluster = await connect(central.endpoint);
});

afterAll(async () => {
  await cluster?.close();
  for (const daemon of [workers, scheduler, central]) await daemon?.stop();
  await rm(folder, { recursive: true, force: true });
});

function* numbers(count: number, note?: string) {
  for (let n = 0; n < count; n++) yield { n, note };
}

test('a map of thousands of inputs is one job, and survives failed inputs', async () => {
  const results: TaskResult<number>[] = [];
  const options = { name: 'many', onError: 'collect', order: 'completed' } as const;
  for await (const result of cluster.map<object, number>({ module }, numbers(3_000), options))
    results.push(result);
  results.sort((a, b) => a.index - b.index);
  expect(results.map(({ index }) => index)).toEqual([...Array(3_000).keys()]);
  for (const { index, state, value, error } of results) {
    if (index % 100 === 13)
      expect([state, error?.message]).toEqual(['failed', expect.stringContaining(`unlucky ${index}`)]);
    else expect(value).toBe(index * index);
  }
  const { jobs } = await cluster.jobs({ all: true });
  expect(jobs.filter(({ name }) => name === 'many')).toMatchObject([{ tasks: { total: 3_000, failed: 30 } }]);
});

test('a map stops at the first input that fails, and its job is cancelled', async () => {
  const taken: number[] = [];
  const read = async () => {
    for await (const value of cluster.map<object, number>({ module }, numbers(1_000_000), { name: 'stops' }))
      taken.push(value);
  };
  await expect(read()).rejects.toBeInstanceOf(JobFailed);
  expect(taken).toEqual(Array.from({ length: 13 }, (_, n) => n * n));
  const state = async () =>
    (await cluster.jobs({ all: true })).jobs.find(({ name }) => name === 'stops')?.state;
  await expect.poll(state).toBe('cancelled');
});

test('a map continues with its key after its client and its scheduler have exited, and repeats no calls', async () => {
  const note = join(folder, 'calls');
  await mkdir(note);
  const options = { key: 'again', onError: 'collect', inFlight: 50 } as const;
  const first = await connect(central.endpoint);
  let read = 0;
  for await (const _ of first.map({ module }, numbers(400, note), options)) if (++read === 120) break;
  await first.close();
  await scheduler.stop();
  scheduler = await startOwner();
  await scheduler.joined;
  const values: (number | null)[] = [];
  for await (const { value } of cluster.map<object, number>({ module }, numbers(400, note), options))
    values.push(value);
  expect(values).toEqual(Array.from({ length: 400 }, (_, n) => (n % 100 === 13 ? null : n * n)));
  expect(await readdir(note)).toHaveLength(400);
  const calls = await Promise.all((await readdir(note)).map((name) => readFile(join(note, name), 'utf8')));
  // Tasks that ran while the scheduler stopped may have run again.
  expect(calls.filter((each) => each.length > 1).length).toBeLessThanOrEqual(8);
  const others = cluster.map({ module }, numbers(10, 'other'), options);
  await expect(others.next()).rejects.toMatchObject({ code: 'key-conflict' });
});

import { existsSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Cluster, connect, JobCancelled, JobFailed } from '@goshawk/client';
import { type ClusterSettings, DEFAULT_POLICY, LIVE_TIMINGS } from '@goshawk/core';
import { type Daemon, startCentral, startScheduler, startWorkers } from '@goshawk/runtime';
import { SILENT_LOGGER } from '@goshawk/transport';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';

/** A real cluster in this process: central, three schedulers, four workers of two slots each. */
const SETTINGS: ClusterSettings = { policy: { ...DEFAULT_POLICY, cutoffMs: 5_000 }, timings: LIVE_TIMINGS };
const common = { bind: 'tcp://127.0.0.1:0', logger: SILENT_LOGGER };
const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes);

let central: Daemon;
let schedulers: Daemon[];
let workers: Daemon;
let cluster: Cluster;
let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'goshawk-client-'));
  central = await startCentral({ ...common, settings: SETTINGS });
  schedulers = await Promise.all(
    ['s0', 's1', 's2'].map((name) => startScheduler({ ...common, name, central: central.endpoint })),
  );
  workers = await startWorkers({
    ...common,
    names: ['w0', 'w1', 'w2', 'w3'],
    slots: 2,
    capacity: { cpus: 2 },
    central: central.endpoint,
    dataFolder: folder,
  });
  await Promise.all([...schedulers, workers].map(({ joined }) => joined));
  cluster = await connect(central.endpoint);
});

afterAll(async () => {
  await cluster?.close();
  await Promise.all([workers, ...(schedulers ?? []), central].map((daemon) => daemon?.stop()));
  await rm(folder, { recursive: true, force: true });
});

describe('against a real cluster', () => {
  test('short and long jobs run to their end, and times are by one clock', async () => {
    for (const estimate of [20, 60_000]) {
      const job = await cluster.submit({
        name: 'sleepy',
        tasks: { count: 20, run: { sleep: 20 } },
        estimate,
      });
      const ended = await job.wait({ detail: true });
      expect(ended).toMatchObject({
        state: 'completed',
        class: estimate === 20 ? 'short' : 'long',
        tasks: { total: 20, completed: 20 },
      });
      expect(ended.starts).toHaveLength(20);
      expect(ended.runs.every((run) => run >= 20)).toBe(true);
      const runtimeMs = ended.endedAtMs - job.sentAtMs!;
      const lastEndMs = Math.max(...ended.starts.map((start, task) => start + ended.runs[task]!));
      expect(runtimeMs).toBeGreaterThanOrEqual(lastEndMs - 1);
    }
  });

  test('hundreds of jobs at once all end, each once', async () => {
    const ids = await Promise.all(
      Array.from({ length: 300 }, async () => {
        const job = await cluster.submit({ tasks: [{ sleep: 1 }, { sleep: 1 }] });
        expect((await job.wait()).state).toBe('completed');
        return job.id;
      }),
    );
    expect(new Set(ids).size).toBe(300);
    expect(new Set(ids.map((id) => id.split('-')[0])).size).toBe(3);
  });

  test('one key is one job', async () => {
    const submit = () => cluster.submit({ key: 'once', tasks: [{ sleep: 1 }] });
    const [one, two] = await Promise.all([submit(), submit()]);
    expect(one.id).toBe(two.id);
    await one.wait();
    expect((await submit()).id).toBe(one.id);
  });

  test('commands print, and modules return values', async () => {
    const module = join(folder, 'square.mjs');
    await writeFile(module, 'export const square = ({ of }) => ({ is: of * of });\n');
    const squares = await cluster.submit<{ is: number }>({
      tasks: [1, 2, 3].map((of) => ({ module, export: 'square', input: { of } })),
    });
    expect(await squares.result()).toEqual([{ is: 1 }, { is: 4 }, { is: 9 }]);
    const printing = await cluster.submit({
      tasks: [
        { exec: ['cat'], stdin: 'to be or\n' },
        { exec: ['sh', '-c', 'echo $GOSHAWK_TASK; echo no >&2'] },
      ],
    });
    expect(await printing.result()).toEqual([undefined, undefined]);
    const [first, second] = await Promise.all([printing.output(0), printing.output(1)]);
    expect([text(first.stdout), text(second.stdout), text(second.stderr)]).toEqual([
      'to be or\n',
      '1\n',
      'no\n',
    ]);
  });

  test('a task that fails fails its job, after its retries, and can be retried alone', async () => {
    const job = await cluster.submit({ tasks: [{ sleep: 1 }, { exec: ['sh', '-c', 'exit 3'] }], retries: 1 });
    const error = await job.result().catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(JobFailed);
    expect((error as JobFailed).failures).toMatchObject([{ task: 1, attempts: 2, exitCode: 3 }]);
    const again = await job.retry();
    expect(again).toMatchObject({ id: job.id, tasksAgain: 1, tasksCompleted: 0 });
    expect((await again.wait()).tasks).toMatchObject({ total: 2, completed: 1, failed: 1 });
  });

  test('results are a value or an error of each task, all at the end or as tasks end', async () => {
    const module = join(folder, 'odd.mjs');
    await writeFile(
      module,
      'export default (n) => { if (n % 3 === 0) throw new Error("three divides " + n); return n * n; };',
    );
    const job = await cluster.submit<number>({
      tasks: Array.from({ length: 40 }, (_, input) => ({ module, input })),
    });
    const received = new Map<number, number | null>();
    for await (const { index, value } of job.eachResult({ order: 'completed' })) {
      expect(received.has(index)).toBe(false);
      received.set(index, value);
    }
    const results = await job.results();
    expect(results.map(({ index }) => index)).toEqual([...Array(40).keys()]);
    for (const { index, state, value, error, attempt } of results) {
      expect(received.get(index)).toBe(value);
      expect([state, attempt]).toEqual([index % 3 === 0 ? 'failed' : 'completed', 1]);
      if (state === 'completed') expect([value, error]).toEqual([index * index, null]);
      else expect(error?.message).toContain(`three divides ${index}`);
    }
    const inOrder: number[] = [];
    for await (const { index } of job.eachResult()) inOrder.push(index);
    expect(inOrder).toEqual([...Array(40).keys()]);
    const error: JobFailed = await job.result().then(
      () => expect.fail(),
      (thrown) => thrown,
    );
    expect(error).toBeInstanceOf(JobFailed);
    expect(error.values[5]).toBe(25);
    expect(error.values[6]).toBeUndefined();
  });

  test('a stage gets the values of earlier ones: a module from its context, a command from a file', async () => {
    const module = join(folder, 'stages.mjs');
    await writeFile(
      module,
      'export const square = (n) => ({ n, squared: n * n });\n' +
        'export const sum = (_, context) => context.results("extract").reduce((sum, { squared }) => sum + squared, 0);\n' +
        'export const none = (_, context) => context.results("sum");\n',
    );
    const script = 'cat "$GOSHAWK_INPUTS"; echo "$GOSHAWK_INPUTS" >&2';
    const job = await cluster.submit({
      stages: [
        { name: 'extract', tasks: [1, 2, 3].map((input) => ({ module, export: 'square', input })) },
        { name: 'sum', after: ['extract'], inputs: ['extract'], tasks: [{ module, export: 'sum' }] },
        { name: 'show', after: ['sum'], inputs: ['extract', 'sum'], tasks: [{ exec: ['sh', '-c', script] }] },
        { name: 'none', after: ['sum'], tasks: [{ module, export: 'none' }] },
      ],
    });
    const results = await job.results();
    expect(results[3]).toMatchObject({ stage: 'sum', value: 14 });
    expect(results[5]).toMatchObject({
      state: 'failed',
      error: { message: expect.stringContaining('"inputs"') },
    });
    const { stdout, stderr } = await job.output(4);
    const lines = text(stdout).trim().split('\n');
    expect(lines.map((line) => JSON.parse(line))).toEqual([
      ...[1, 2, 3].map((n, index) => ({ stage: 'extract', index, value: { n, squared: n * n } })),
      { stage: 'sum', index: 3, value: 14 },
    ]);
    // The file is removed with its task.
    expect(existsSync(text(stderr).trim())).toBe(false);
  });

  test('results of a running job have states, and those of a cancelled job are the existing ones', async () => {
    const job = await cluster.submit({ tasks: [{ exec: ['true'] }, { sleep: 600_000 }] });
    for await (const result of job.eachResult({ order: 'completed' })) {
      expect(result).toMatchObject({ index: 0, state: 'completed', exitCode: 0, value: null });
      break;
    }
    const states = (await job.results({ wait: false })).map(({ state }) => state);
    expect([states[0], ['waiting', 'running'].includes(states[1]!)]).toEqual(['completed', true]);
    await job.cancel();
    expect(await job.results()).toMatchObject([
      { state: 'completed', output: { stdout: null, stderr: null, logs: `goshawk logs ${job.id}/0` } },
      { state: 'cancelled', error: { code: 'cancelled' } },
    ]);
  });

  test('events end with the end; logs can be followed; cancelling ends a running job', async () => {
    const job = await cluster.submit({ tasks: [{ exec: ['sh', '-c', 'echo started; sleep 60'] }] });
    for await (const { bytes } of job.logs({ follow: true })) {
      expect(text(bytes)).toBe('started\n');
      await job.cancel();
    }
    const kinds: string[] = [];
    for await (const event of job.events()) kinds.push(event.kind);
    expect(kinds).toEqual(['ended']);
    await expect(job.result()).rejects.toThrow(JobCancelled);
  });

  test('a second client finds jobs by id, and lists those of all schedulers', async () => {
    const job = await cluster.submit({ name: 'shared', user: 'grace', tasks: [{ sleep: 1 }] });
    await job.wait();
    await using other = await connect(schedulers[2]!.endpoint);
    expect((await other.job(job.id).wait()).name).toBe('shared');
    const { jobs, total } = await other.jobs({ user: 'grace' });
    expect(jobs.map(({ id }) => id)).toEqual([job.id]);
    expect(total).toBe(1);
    expect((await other.jobs({ all: true })).total).toBeGreaterThan(300);
  });

  test('bad jobs and impossible ones are refused in one line', async () => {
    const bad = { tasks: [{ slep: 1 }] } as unknown as { tasks: [{ sleep: number }] };
    await expect(cluster.submit(bad)).rejects.toMatchObject({ name: 'InputError', code: 'bad-job' });
    await expect(cluster.submit({ tasks: [{ sleep: 1 }], demand: { cpus: 64 } })).rejects.toMatchObject({
      name: 'InputError',
      code: 'impossible-demand',
    });
    await expect(cluster.job('nobody-1').describe()).rejects.toMatchObject({ code: 'unknown-job' });
  });

  test('workers are listed, drained and counted', async () => {
    expect((await cluster.drain('w3')).worker).toBe('w3');
    const job = await cluster.submit({ tasks: { count: 30, run: { sleep: 5 } } });
    expect((await job.wait()).state).toBe('completed');
    const { workers: listed, settings } = await cluster.describe();
    expect(listed.find(({ name }) => name === 'w3')!.state).not.toBe('active');
    expect(settings.policy.policy).toBe('hawk');
    await cluster.drain('w3', false);
    const { totals, silent, workers: byName } = await cluster.counters();
    expect(totals.schedulers.takesNoJobs).toEqual({ full: 0, away: 0 });
    expect(silent).toEqual([]);
    expect(Object.keys(byName)).toEqual(['w0', 'w1', 'w2', 'w3']);
    expect(totals.workers.tasksStarted).toBeGreaterThan(600);
    expect(totals.schedulers.tasksCompleted).toBeGreaterThan(600);
  });

  test('a worker that was drained and undrained still finishes running tasks when it is stopped', async () => {
    const more = await startWorkers({
      ...common,
      names: ['marked'],
      slots: 1,
      capacity: { mark: 1 },
      central: central.endpoint,
      dataFolder: join(folder, 'marked'),
    });
    await more.joined;
    const stateOf = async () =>
      (await cluster.describe()).workers.find(({ name }) => name === 'marked')?.state;
    await cluster.drain('marked', true);
    await expect.poll(stateOf).toBe('drained');
    await cluster.drain('marked', false);
    await expect.poll(stateOf).toBe('active');
    // Only the task itself shows that it is running, because a task in flight to a draining worker is returned.
    const started = join(folder, 'started');
    // Schedulers learn of the drain at different times, and refuse until then.
    const job = await vi.waitFor(
      () =>
        cluster.submit({
          tasks: [{ exec: ['sh', '-c', 'touch "$0"; sleep 0.5', started] }],
          demand: { mark: 1 },
        }),
      { timeout: 60_000 },
    );
    await expect.poll(() => existsSync(started)).toBe(true);
    await more.drain();
    const ended = await job.wait();
    expect(ended.state).toBe('completed');
    expect(ended.attempts).toMatchObject({ total: 1, lost: 0 });
  });

  test('a draining scheduler hands new jobs to the others and reports the end of its jobs', async () => {
    const draining = schedulers.pop()!;
    const jobs = await Promise.all(
      Array.from({ length: 30 }, () => cluster.submit({ tasks: [{ sleep: 300 }, { sleep: 300 }] })),
    );
    const ends = jobs.map((job) => job.wait());
    const drained = draining.drain();
    const later = await Promise.all(
      Array.from({ length: 30 }, () => cluster.submit({ tasks: [{ sleep: 1 }] })),
    );
    await drained;
    expect((await Promise.all(ends)).map(({ state }) => state)).toEqual(jobs.map(() => 'completed'));
    await Promise.all(later.map((job) => job.wait()));
  });

  test('a wait whose scheduler exits without finishing the job reports that its owner is gone', async () => {
    await using hasty = await connect(central.endpoint, { requestTimeoutMs: 5_000, renewMs: 500 });
    const leaving = schedulers.pop()!;
    const { tag } = (await cluster.describe()).schedulers.find(
      ({ endpoint }) => endpoint === leaving.endpoint,
    )!;
    const jobs = await Promise.all(
      Array.from({ length: 20 }, () => cluster.submit({ tasks: [{ sleep: 60_000 }] })),
    );
    const owned = hasty.job(jobs.find(({ id }) => id.startsWith(`${tag}-`))!.id);
    const waiting = owned.wait();
    const outcome = expect(waiting).rejects.toMatchObject({ name: 'UnreachableError', code: 'owner-gone' });
    await owned.describe();
    await leaving.stop();
    await outcome;
    await expect(owned.describe()).rejects.toMatchObject({ code: 'unknown-job' });
    await Promise.all(jobs.filter(({ id }) => !id.startsWith(`${tag}-`)).map((job) => job.cancel()));
  });

  test('short jobs continue while central is down', async () => {
    // Central has detected every departure so far; no process detects departures after central stops.
    expect((await cluster.describe()).schedulers).toHaveLength(schedulers.length);
    await central.stop();
    const job = await cluster.submit({ tasks: [{ sleep: 1 }], estimate: 1 });
    expect((await job.wait()).state).toBe('completed');
    expect((await cluster.jobs()).jobs.map(({ id }) => id)).toContain(job.id);
  });
});

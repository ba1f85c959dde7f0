import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { type Cluster, connect, type JobInput } from '@goshawk/client';
import type { Overview } from '@goshawk/gateway';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import type { RunningGoshawk } from './goshawk-process.fixture.js';
import { TestCluster } from './test-cluster.fixture.js';

/** Timeout (ms) that only a cluster that never names the problem exceeds, even on a busy machine. */
const PATIENCE_MS = 90_000;

type Plant = (there: {
  readonly cluster: Cluster;
  readonly started: Readonly<Record<string, RunningGoshawk>>;
}) => Promise<unknown>;

const exec = (...line: string[]): JobInput['tasks'] => [{ exec: line }];
const submits =
  (...jobs: JobInput[]): Plant =>
  async ({ cluster }) => {
    for (const job of jobs) await cluster.submit(job);
  };

/** Planted side by side. The overview names the latest three failed jobs. */
const PROBLEMS: readonly (readonly [problem: string, says: RegExp, plant: Plant])[] = [
  [
    'a hung worker',
    /1 worker lost: hung\b.*no process responds: it hangs/,
    async ({ started }) => started.hung!.kill('SIGSTOP'),
  ],
  [
    'a killed scheduler',
    /no answer from scheduler gone/,
    async ({ started }) => started.gone!.kill('SIGKILL'),
  ],
  [
    'a worker on which tasks fail',
    /1 worker quarantined: bad\b.*tasks (of \S+ )?fail here but complete elsewhere/,
    // The program is missing on one worker.
    submits({
      ...{ name: 'eaten', require: { fleet: 'mixed' } },
      tasks: { count: 300, run: { exec: ['the-tool'] } },
    }),
  ],
  [
    'a user at the limit of running tasks',
    /user limited (has )?1 running task/,
    submits({
      name: 'capped',
      user: 'limited',
      estimate: '900s',
      tasks: { count: 9, run: { sleep: '900s' } },
    }),
  ],
  [
    'a deadline that will be missed',
    /late \(\S+\) will probably miss its deadline in/,
    submits({ name: 'late', deadline: '600s', estimate: '900s', tasks: [{ sleep: '900s' }] }),
  ],
  [
    'a gang that waits for GPUs of another user',
    /all 4 tasks of a gang start together.*it needs 4 gpu, and 2 of 4 are free; holder has 2/,
    submits(
      { name: 'training', user: 'holder', estimate: '900s', demand: { gpu: 2 }, tasks: [{ sleep: '900s' }] },
      { name: 'wide', gang: true, demand: { gpu: 1 }, tasks: { count: 4, run: { sleep: '5s' } } },
    ),
  ],
  [
    'a job for a drained worker',
    /every worker that could run them is drained/,
    async ({ cluster }) => {
      await cluster.drain('zoned');
      await cluster.submit({ name: 'nowhere', require: { zone: 'z1' }, tasks: [{ sleep: '5s' }] });
    },
  ],
  [
    'a killed task',
    /killed-task \(\S+ signal SIGKILL\)/,
    submits({ name: 'killed-task', tasks: exec('sh', '-c', 'kill -9 $$') }),
  ],
  [
    'a task over its time limit',
    /endless \(\S+ ran longer than its timeout\)/,
    submits({ name: 'endless', timeout: '500ms', tasks: exec('sleep', '900') }),
  ],
  [
    'a program that no worker has',
    /typo \(\S+ the command "no-such-program" is not in the worker's PATH\)/,
    submits({ name: 'typo', tasks: exec('no-such-program') }),
  ],
];

describe('a cluster with ten other problems', () => {
  let up: TestCluster;
  let cluster: Cluster;
  const started: Record<string, RunningGoshawk> = {};
  const planted = new Map<string, number>();
  /** Seconds from planting until the overview of the page named the problem. */
  const named = new Map<string, string>();
  const leaving = new AbortController();
  const folder = mkdtempSync(join(tmpdir(), 'goshawk-ten-others-'));
  let watching: Promise<void> | undefined;

  const plant = async (problem: string, doIt: Plant): Promise<void> => {
    await doIt({ cluster, started });
    planted.set(problem, performance.now());
  };

  const watch = async (): Promise<void> => {
    // The dashboard polls as often as for a page while its events are read.
    await fetch(`${up.dashboard}v1/events`, { signal: leaving.signal });
    while (!leaving.signal.aborted) {
      const overview = (await (await fetch(`${up.dashboard}v1/overview`)).json()) as Overview;
      const lines = [...overview.attention.map(({ what, hint }) => `${what}; ${hint}`)];
      lines.push(...(overview.waiting ?? []).map(({ why }) => why));
      for (const [problem, says] of PROBLEMS) {
        const since = planted.get(problem);
        if (since === undefined || named.has(problem) || !lines.some((line) => says.test(line))) continue;
        named.set(problem, ((performance.now() - since) / 1_000).toFixed(1));
      }
      await pause(250);
    }
  };

  beforeAll(async () => {
    const users = join(folder, 'users.json');
    writeFileSync(users, JSON.stringify({ limited: { running: 1 }, '*': { weight: 1 } }));
    const size = ['--workers', '1', '--cpus', '8', '--schedulers', '1'];
    up = await TestCluster.start([...size, '--dashboard', '--users', users]);
    writeFileSync(join(folder, 'the-tool'), '#!/bin/sh\nsleep 0.02\n', { mode: 0o755 });
    const member = async (role: string, name: string, ...args: string[]): Promise<void> => {
      const line = [role, '--name', name, '--central-url', up.url, '--json', ...args];
      const PATH = name === 'good' ? `${folder}:/usr/bin:/bin` : '/usr/bin:/bin';
      started[name] = up.run(line, { environment: { PATH } });
      await started[name].firstLine;
    };
    await Promise.all([
      member('worker', 'hung', '--cpus', '1'),
      member('worker', 'bad', '--cpus', '2', '--attribute', 'fleet=mixed'),
      member('worker', 'good', '--cpus', '2', '--attribute', 'fleet=mixed'),
      member('worker', 'gpus', '--cpus', '4', '--gpus', '4'),
      member('worker', 'zoned', '--cpus', '1', '--attribute', 'zone=z1'),
      member('scheduler', 'gone', '--data-folder', join(up.folder, 'gone')),
    ]);
    cluster = await connect(up.url);
    await vi.waitFor(async () => {
      const { workers, schedulers } = await cluster.describe();
      expect(workers.length + schedulers.length).toBe(8);
    }, PATIENCE_MS);
    watching = watch().catch((error: unknown) => {
      if (!leaving.signal.aborted) throw error;
    });
    const [first, ...others] = PROBLEMS;
    await plant(first![0], first![2]);
    // Tasks that start on a hung worker wait until its lease expires.
    await vi.waitFor(() => expect(named.has(first![0])).toBe(true), PATIENCE_MS);
    for (const [problem, , doIt] of others) await plant(problem, doIt);
  });

  afterAll(async () => {
    leaving.abort();
    await watching;
    await cluster?.close();
    for (const each of Object.values(started)) each.kill('SIGKILL');
    // Otherwise `up` would wait for tasks that run for a quarter of an hour.
    await up?.goshawk(['cancel', '--all', '--yes']);
    await up?.stop();
    rmSync(folder, { recursive: true });
    console.info([...named].map(([problem, seconds]) => `${problem}: named after ${seconds} s`).join('\n'));
  });

  it.each(PROBLEMS)('names %s on the page', async (problem) => {
    await expect.poll(() => named.get(problem), { timeout: PATIENCE_MS }).toBeDefined();
  });

  it('names them all in goshawk top', async () => {
    const top = async () => {
      const text = (await up.goshawk(['top'])).stdout.replaceAll(/\s+/g, ' ');
      return PROBLEMS.filter(([, says]) => !says.test(text)).map(([problem]) => problem);
    };
    await expect.poll(top, { timeout: PATIENCE_MS }).toEqual([]);
  });
});

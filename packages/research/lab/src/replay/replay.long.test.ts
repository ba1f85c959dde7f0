import { once } from 'node:events';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { childrenOf, runGoshawk, startGoshawk } from '@goshawk/cli/testing';
import type { Comparison, JobRow, Run } from '@goshawk/report';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

let folder = '';
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'goshawk-replay-test-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

/** A small cluster suffices, since the tests check correctness rather than speed. */
const SMALL = ['--workers', '20', '--schedulers', '2', '--jobs', '300', '--for', '3s'];

const DISTRIBUTION = ['count', 'max', 'mean', 'p50', 'p90', 'p99'];

function expectWholeRun(run: Run, jobs: number, tasks: number): void {
  expect(run.jobs).toEqual({ submitted: jobs, completed: jobs, failed: 0 });
  expect(run.tasks).toMatchObject({ submitted: tasks, completed: tasks });
  expect(run.tasks.attempts).toBeGreaterThanOrEqual(tasks);
  expect(run.runtimeSeconds.all.count).toBe(jobs);
  expect(run.queueingSeconds.all.count).toBe(tasks);
}

async function recordsIn(file: string): Promise<JobRow[]> {
  const [, ...lines] = (await readFile(file, 'utf8')).trimEnd().split('\n');
  return lines.map((line) => JSON.parse(line) as JobRow);
}

/**
 * Writes a trace of jobs of several sizes whose tasks are far shorter or far longer than a second. The client
 * times pilots across processes that share a few processors, and this overhead must not turn short jobs into
 * long ones.
 */
function farApart(): string {
  const jobs = Array.from({ length: 48 }, (_, job) => {
    const tasks = [1, 4, 12, 36][job % 4]!;
    const least = job % 6 === 0 ? 1.5 : 0.1;
    const durationsSeconds = Array.from(
      { length: tasks },
      (_, task) => least + ((7 * job + 3 * task) % 10) / 100,
    );
    return { submitSeconds: job, durationsSeconds };
  });
  return [{ schema: 'goshawk.trace/1' }, ...jobs].map((line) => `${JSON.stringify(line)}\n`).join('');
}

describe('goshawk replay', () => {
  it('compares policies and reports all fields of the contract', async () => {
    const report = join(folder, 'out.html');
    const saved = join(folder, 'jobs.jsonl');
    const args = ['replay', 'prototype:seed=2', ...SMALL, '--seed', '7', '--json', '--report', report];
    args.push('--save-jobs', saved);
    const { exitCode, stdout, stderr } = await runGoshawk([...args, '--progress', 'plain']);
    expect(stderr).toMatch(/^durations divided by [\d.,]+/m);
    expect(stderr).toMatch(/^hawk: .*, offered load \d+/m);
    expect(exitCode).toBe(0);
    const comparison = JSON.parse(stdout) as Comparison;
    expect(comparison.schema).toBe('goshawk.comparison/1');
    expect(comparison.cluster).toEqual({ workers: 20, slots: 1, schedulers: 2, mode: 'live' });
    expect(comparison.workload).toEqual({
      name: expect.stringMatching(/^prototype:/),
      sha256: expect.stringMatching(/^[0-9a-f]{64}$/),
      jobs: 300,
      tasks: expect.any(Number),
      taskSeconds: expect.any(Number),
      spanSeconds: expect.any(Number),
    });
    expect(comparison.runs.map(({ policy }) => policy)).toEqual(['goshawk', 'hawk', 'sparrow']);
    for (const run of comparison.runs) {
      expectWholeRun(run, 300, comparison.workload.tasks);
      for (const times of [run.runtimeSeconds, run.queueingSeconds]) {
        for (const of of ['short', 'long', 'all'] as const) {
          expect(Object.keys(times[of]).sort()).toEqual(DISTRIBUTION);
        }
      }
      expect(run.messages.total).toBe(
        Object.values(run.messages.byType).reduce((sum, each) => sum + each, 0),
      );
      expect(run.messages.byType.run).toBeGreaterThan(0);
      expect(run.utilisation.max).toBeLessThanOrEqual(1);
      expect(Math.max(...run.series.busySlots)).toBeGreaterThan(0);
      const { stealAttempts } = run.series.counted!;
      expect(stealAttempts.reduce((sum, attempts) => sum + attempts, 0)).toBe(run.steals.attempts);
      expect(run).toMatchObject({
        seed: 7,
        predictor: { jobsSampled: expect.any(Number) },
        events: null,
        eventsPerSecond: null,
      });
      expect(run.wallSeconds).toBeGreaterThan(0);
      for (const option of [
        'scale',
        'taskFactor',
        'cutoff',
        'shortPartition',
        'load',
        'estimator',
        'stealCap',
      ]) {
        expect(run.options).toHaveProperty(option);
      }
      expect(run.options).toMatchObject({
        seed: 7,
        workers: 20,
        schedulers: 2,
        slots: 1,
        load: 0.9,
        jobs: 300,
      });
    }
    const [goshawk, hawk, sparrow] = comparison.runs as [Run, Run, Run];
    expect(goshawk.messages.byType.matched).toBeGreaterThan(0);
    expect(hawk.steals.attempts).toBeGreaterThan(0);
    expect(hawk.steals.successes).toBeGreaterThan(0);
    expect(hawk.messages.byType.place).toBeGreaterThan(0);
    expect(sparrow.steals).toEqual({ attempts: 0, successes: 0, probesMoved: 0 });
    expect(sparrow.messages.byType.place).toBeUndefined();
    expect(comparison.ratios).toEqual(
      ['hawk', 'sparrow'].map((baseline) =>
        expect.objectContaining({ policy: 'goshawk', baseline, short: expect.anything() }),
      ),
    );
    // The same jobs run in virtual time. `bench/src/fidelity` tests how close the run times are.
    const cutoff = String(hawk.options.cutoff);
    const virtual = await runGoshawk([
      ...['simulate', saved, '--policy', 'hawk', '--workers', '20', '--cutoff', cutoff, '--json', '-q'],
    ]);
    const [simulated] = (JSON.parse(virtual.stdout) as Comparison).runs as [Run];
    for (const of of ['short', 'long'] as const) {
      expect(simulated.runtimeSeconds[of].count).toBe(hawk.runtimeSeconds[of].count);
    }
    const page = await readFile(report, 'utf8');
    expect(page.replaceAll(/<[^>]+>/g, '')).toContain('goshawk replay prototype:seed=2 --workers 20');
    expect((await readdir(folder)).toSorted()).toEqual(['jobs.jsonl', 'out.html']);
  });

  it('assigns the same classes with pilots as in virtual time', async () => {
    const [trace, jobs, live, virtual] = ['trace.jsonl', 'pilots.jsonl', 'live.jsonl', 'virtual.jsonl'].map(
      (name) => join(folder, name),
    );
    await writeFile(trace!, farApart());
    const pilots = ['--policy', 'goshawk', '--estimator', 'pilot', '--cutoff', '0.9', '--seed', '3'];
    const cluster = ['--workers', '40', '--schedulers', '2', '--json', '--quiet'];
    const replayed = await runGoshawk([
      ...['replay', trace!, ...cluster, ...pilots, '--scale', '1', '--save-jobs', jobs!],
      ...['--save-results', live!],
    ]);
    expect(replayed.exitCode).toBe(0);
    const simulated = await runGoshawk([
      ...['simulate', jobs!, ...cluster, ...pilots, '--short-partition', 'none'],
      ...['--durations', 'task', '--save-results', virtual!],
    ]);
    expect(simulated.exitCode).toBe(0);
    const [ofLive, ofVirtual] = await Promise.all([live!, virtual!].map(recordsIn));
    const predictions = (of: readonly JobRow[]) => of.map(({ job, pilots, judged }) => [job, pilots, judged]);
    expect(predictions(ofLive!)).toEqual(predictions(ofVirtual!));
    const sampled = ofLive!.filter(({ pilots }) => pilots > 0);
    expect(new Set(sampled.map(({ judged }) => judged))).toEqual(new Set(['short', 'long']));
    expect(sampled.length).toBeGreaterThan(10);
  });

  it('completes every job once even if workers are killed', async () => {
    const replay = startGoshawk([
      ...['replay', 'prototype:seed=2', '--policy', 'hawk', '--workers', '60', '--schedulers', '2'],
      ...['--jobs', '300', '--for', '18s', '--json', '--progress', 'plain'],
    ]);
    // The first progress line appears after five seconds, while jobs still arrive and most workers are busy.
    await replay.says(/^hawk *: \d+ of 300/m);
    const workers = childrenOf(replay.pid).filter(({ command }) => / worker /.test(command));
    expect(workers).toHaveLength(2);
    process.kill(workers[0]!.pid, 'SIGKILL');
    const { exitCode, stdout, stderr } = await replay.finished;
    expect(stderr).toMatch(/workers\d+ exited \(SIGKILL\); restarting it/);
    expect(stderr).toMatch(/messages and steals of worker w\d+ and 29 more are missing or incomplete/);
    expect(exitCode).toBe(0);
    const { runs, workload } = JSON.parse(stdout) as Comparison;
    expectWholeRun(runs[0]!, 300, workload.tasks);
    expect(runs[0]!.tasks.attempts).toBeGreaterThan(workload.tasks);
  });

  it('completes every job under goshawk even if central is killed', async () => {
    const replay = startGoshawk([
      ...['replay', 'prototype:seed=2', '--policy', 'goshawk', '--workers', '30', '--schedulers', '2'],
      ...['--jobs', '300', '--for', '9s', '--json', '--progress', 'plain'],
    ]);
    await replay.says(/^goshawk *: \d+ of 300/m);
    const central = childrenOf(replay.pid).find(({ command }) => / central /.test(command));
    process.kill(central!.pid, 'SIGKILL');
    const { exitCode, stdout, stderr } = await replay.finished;
    expect(stderr).toMatch(/central exited \(SIGKILL\); restarting it/);
    expect(exitCode).toBe(0);
    const { runs, workload } = JSON.parse(stdout) as Comparison;
    expectWholeRun(runs[0]!, 300, workload.tasks);
  });

  it('leaves neither processes nor a report if it is interrupted', async () => {
    const report = join(folder, 'interrupted.html');
    const replay = startGoshawk(['replay', 'prototype', ...SMALL, '--report', report, '--progress', 'plain']);
    await replay.says(/hawk: starting/);
    // The signal arrives at any point: while processes start, or when they are running.
    const children = await appearing(replay.pid);
    replay.kill('SIGINT');
    const { exitCode, stdout } = await replay.finished;
    expect(exitCode).toBe(130);
    expect(stdout).toBe('');
    expect(await readdir(folder)).not.toContain('interrupted.html');
    for (const pid of children) expect(() => process.kill(pid, 0), `${pid} is still there`).toThrow('ESRCH');
  });

  it('runs on an existing cluster under its policy', async () => {
    const environment = { XDG_STATE_HOME: folder };
    const up = startGoshawk(
      [
        ...['up', '--workers', '10', '--schedulers', '2', '--policy', 'split', '--cutoff', '0.5'],
        ...['--data-folder', join(folder, 'up')],
      ],
      environment,
    );
    await up.says(/the cluster is up at/);
    const url = /the cluster is up at (\S+)/.exec(up.stderr())![1]!;
    const on = ['replay', 'prototype:jobs=60', '--for', '2s', '--cluster', url];
    const { exitCode, stdout } = await runGoshawk([...on, '--json', '--quiet'], environment);
    expect(exitCode).toBe(0);
    const { cluster, runs, ratios, workload } = JSON.parse(stdout) as Comparison;
    expect(cluster).toEqual({ workers: 10, slots: 1, schedulers: 2, mode: 'live' });
    expect(runs.map(({ policy }) => policy)).toEqual(['split']);
    expect(runs[0]!.options.cutoff).toBe(0.5);
    expectWholeRun(runs[0]!, 60, workload.tasks);
    expect(ratios).toEqual([]);
    const refused = await runGoshawk([...on, '--policy', 'hawk'], environment);
    expect(refused).toMatchObject({ exitCode: 2, stdout: '' });
    expect(refused.stderr).toMatch(/^goshawk: --policy hawk: the cluster at \S+ runs split; omit --policy/);
    up.kill('SIGINT');
    expect((await up.finished).exitCode).toBe(0);
  });
});

it('a port in use is an input error for a daemon and a cluster', async () => {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const bind = `tcp://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const daemon = await runGoshawk(['central', '--bind', bind, '--log-level', 'silent']);
  const up = ['up', '--bind', bind, '--workers', '1', '--quiet', '--data-folder', join(folder, 'data')];
  for (const { exitCode, stderr } of [daemon, await runGoshawk(up)]) {
    expect(stderr).toMatch(/^goshawk: [^\n]*\n$/);
    expect(stderr).toContain(bind);
    expect(exitCode).toBe(2);
  }
  server.close();
});

it('a missing cluster causes exit code 3', async () => {
  const { exitCode, stderr } = await runGoshawk(['replay', 'prototype', '--cluster', 'tcp://127.0.0.1:1']);
  // A busy machine may not learn in time that the connection is refused.
  expect(stderr).toMatch(
    /^goshawk: no answer from tcp:\/\/127\.0\.0\.1:1; is the cluster running(, or too busy to answer)?\?.*\n$/,
  );
  expect(exitCode).toBe(3);
});

/** Waits for the children of a process. */
async function appearing(pid: number): Promise<number[]> {
  for (;;) {
    const children = childrenOf(pid);
    if (children.length > 2) return children.map((child) => child.pid);
    await setImmediate();
  }
}

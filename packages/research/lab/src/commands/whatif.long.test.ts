import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { TestCluster } from '@goshawk/cli/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { brokenRules } from '../trace-export/chrome.fixture.js';
import type { ChromeTrace } from '../trace-export/chrome.js';

/** A small cluster runs these jobs, and they are simulated from the journals of its schedulers. */
const JOBS = 120;

let cluster: TestCluster;
beforeAll(async () => {
  cluster = await TestCluster.start(['--workers', '10', '--schedulers', '2', '--cutoff', '0.2']);
  const replay = [
    'replay',
    `prototype:jobs=${JOBS},seed=3`,
    '--cluster',
    cluster.url,
    '--for',
    '4s',
    '--quiet',
  ];
  expect(await cluster.goshawk([...replay, '--jobs', `${JOBS}`])).toMatchObject({ exitCode: 0 });
});
afterAll(() => cluster.stop());

describe('goshawk whatif', () => {
  it('simulates recorded jobs under the same and other settings while the cluster runs', async () => {
    const args = ['whatif', '--policy', 'goshawk,sparrow', '--workers', '10,20', '--since', '1h', '--json'];
    const ask = async () => {
      const { exitCode, stdout, stderr } = await cluster.goshawk(args);
      expect([exitCode, stderr]).toEqual([0, '']);
      return JSON.parse(stdout);
    };
    // The last end may reach the journal shortly after the client has the result.
    await expect.poll(async () => (await ask()).recorded.jobs, { timeout: 120_000 }).toBe(JOBS);
    const whatif = await ask();
    expect(whatif).toMatchObject({
      schema: 'goshawk.whatif/1',
      recorded: { jobs: JOBS, runtimeSeconds: { all: { count: JOBS } } },
      simulated: { policy: 'goshawk', workers: 10, runtimeSeconds: { all: { count: JOBS } } },
    });
    expect(
      whatif.others.map(({ policy, workers }: { policy: string; workers: number }) => [policy, workers]),
    ).toEqual([
      ['goshawk', 20],
      ['sparrow', 10],
      ['sparrow', 20],
    ]);
    expect(whatif.advice.length).toBeGreaterThan(3);
  });

  it('reads a folder and prints text', async () => {
    const args = ['whatif', 'data', '--workers', '40', '--estimator', 'pilot'];
    const { exitCode, stdout } = await cluster.goshawk(args);
    expect(exitCode).toBe(0);
    expect(stdout).toMatch(/^recorded .* m?s/m);
    expect(stdout).toMatch(/^simulated as it ran: goshawk on 10 workers/m);
    expect(stdout).toMatch(/^goshawk estimator=pilot on 40 workers: /m);
    expect(stdout).toMatch(/against what was recorded: short p50 [+−]/);
  });

  it('reads recorded jobs as a workload and writes them as a trace', async () => {
    const { exitCode, stdout, stderr } = await cluster.goshawk([
      'trace',
      'convert',
      'data',
      '--out',
      '-',
      '--format',
      'tr',
    ]);
    expect(exitCode).toBe(0);
    expect(stdout.trimEnd().split('\n')).toHaveLength(JOBS);
    expect(stderr).toMatch(/^data: 120 jobs/);
  });

  it('exports all recorded jobs or one of them for a trace viewer', async () => {
    const { exitCode, stdout } = await cluster.goshawk(['trace', 'export', '--out', '-']);
    expect(exitCode).toBe(0);
    const { traceEvents } = JSON.parse(stdout) as ChromeTrace;
    expect(brokenRules(JSON.parse(stdout))).toEqual([]);
    const [first, ...others] = traceEvents.filter(({ ph }) => ph === 'b');
    expect(others).toHaveLength(JOBS - 1);
    const { id2, args } = first!;
    const one = await cluster.goshawk(['trace', 'export', 'data', '--job', id2!.local, '--out', '-']);
    const shown = (JSON.parse(one.stdout) as ChromeTrace).traceEvents;
    expect(shown.filter(({ ph }) => ph === 'X')).toHaveLength(args.runs as number);
    const none = await cluster.goshawk(['trace', 'export', '--job', 'nobody-1', '--out', '-']);
    expect(none).toMatchObject({ exitCode: 2, stdout: '' });
    expect(none.stderr).toMatch(/nobody-1 does not exist or has not ended/);
  });

  it.each<[string, string[], RegExp]>([
    ['a folder without journals', ['.'], /there is no journal in/],
    ['no folder', ['nowhere'], /nowhere is not a folder/],
    ['no job within that time', ['data', '--since', '0s'], /no job has ended within that time/],
    ['no number of workers', ['data', '--workers', 'many'], /"many" is not a number of workers/],
    ['an unknown policy', ['data', '--policy', 'hauk'], /unknown policy "hauk"; did you mean/],
  ])('refuses %s in one line', async (_, args, line) => {
    const { exitCode, stdout, stderr } = await cluster.goshawk(['whatif', ...args, '--quiet']);
    expect(stderr.trimEnd().split('\n')).toEqual([expect.stringMatching(line)]);
    expect([exitCode, stdout]).toEqual([2, '']);
  });
});

describe('goshawk whatif with mixed jobs', () => {
  const WORKER = ['--cpus', '4', '--resources', 'memory=8GiB,gpu=1'];
  const POLICIES = ['hawk', 'drf', 'tetris'];
  let mixed: TestCluster;
  beforeAll(async () => {
    const workers = ['--workers', '4', ...WORKER, '--attribute', 'rack=r1,r2'];
    mixed = await TestCluster.start([...workers, '--schedulers', '2', '--cutoff', '1']);
    const args = ['replay', 'mixed:jobs=60,workers=4,seed=2', '--cluster', mixed.url, '--jobs', '60'];
    expect(await mixed.goshawk([...args, '--for', '5s', '--quiet'])).toMatchObject({ exitCode: 0 });
    const required = ['submit', '--require', 'rack=r2', '--begin', '1s', '--sleep', '10ms', '--wait'];
    expect(await mixed.goshawk(required)).toMatchObject({ exitCode: 0 });
  });
  afterAll(() => mixed.stop());

  const whatif = async (...args: string[]) => {
    const { exitCode, stdout, stderr } = await mixed.goshawk(['whatif', ...args, '--json']);
    expect([exitCode, stderr]).toEqual([0, '']);
    return JSON.parse(stdout);
  };
  const complete = { runtimeSeconds: { all: { count: 61 } } };
  const users = ['ana', 'ben', 'cleo'].map((user) => expect.objectContaining({ user }));
  const served = { deadlines: { jobs: 6 }, users: expect.arrayContaining(users) };

  it('simulates stages, gangs, GPUs, deadlines, users and requirements under other policies', async () => {
    await writeFile(join(mixed.folder, 'users.json'), '{"cleo": {"weight": 4}}');
    // The last end may reach the journal shortly after the client has the result.
    await expect.poll(async () => (await whatif()).recorded.jobs, { timeout: 120_000 }).toBe(61);
    const { recorded, simulated, others } = await whatif(
      '--policy',
      POLICIES.join(),
      '--users',
      'users.json',
    );
    expect(recorded).toMatchObject({ ...complete, ...served });
    expect(simulated).toMatchObject({ policy: 'goshawk', ...complete, ...served });
    expect(others).toMatchObject(POLICIES.map((policy) => ({ policy, ...complete, ...served })));
    // The time before --begin is not a wait.
    expect(recorded.runtimeSeconds.short.p50).toBeLessThan(1);
    const { stdout, stderr } = await mixed.goshawk(['whatif', '--policy', 'hawk']);
    expect(stderr).toContain('hawk does not support gangs; their tasks start one by one');
    expect(stdout).toMatch(/^run times of jobs .* missed +\S+ p90 /m);
    expect(stdout).toMatch(/^recorded .* \d of 6 /m);
  });

  it('refuses a cluster on which a recorded job could never start', async () => {
    const small = await mixed.goshawk(['whatif', '--workers', '1', '--quiet']);
    expect(small.exitCode).toBe(2);
    expect(small.stderr).toMatch(/start together, and the cluster has room for|no worker has the attributes/);
  });

  it('reads journals and exports where no cluster runs', async () => {
    const elsewhere = join(mixed.folder, 'elsewhere');
    await mkdir(elsewhere);
    const away = { cwd: elsewhere, environment: { XDG_STATE_HOME: elsewhere } };
    const exported = await Promise.all(
      ['s0', 's1'].map((name) => mixed.goshawk(['journal', 'export', `data/${name}`])),
    );
    await writeFile(join(elsewhere, 'jobs.jsonl'), exported.map(({ stdout }) => stdout).join(''));
    const setup = ['--policy', 'goshawk,drf', '--workers', '4', '--attribute', 'rack=r1,r2', '--cutoff', '1'];
    const { exitCode, stdout } = await mixed.goshawk(
      ['whatif', 'jobs.jsonl', ...setup, ...WORKER, '--json'],
      away,
    );
    expect(exitCode).toBe(0);
    const { recorded, simulated, others } = JSON.parse(stdout);
    expect(recorded).toMatchObject({ jobs: 61, ...complete, ...served });
    expect(simulated).toMatchObject({ policy: 'goshawk', ...complete, ...served });
    expect(others).toMatchObject([{ policy: 'drf', ...complete, ...served }]);
    const without = await mixed.goshawk(['whatif', '../data', ...setup, '--cpus', '4', '--quiet'], away);
    expect(without).toMatchObject({ exitCode: 2, stdout: '' });
    expect(without.stderr).toMatch(/needs .* of (memory|gpu), and a worker has 0; describe the workers/);
  });
});

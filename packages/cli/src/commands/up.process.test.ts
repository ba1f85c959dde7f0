import { chown, mkdir, mkdtemp, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import {
  childrenOf,
  isRunning,
  type RunningGoshawk,
  runGoshawk,
  startGoshawk,
} from '../goshawk-process.fixture.js';
import { removeFolder } from '../test-cluster.fixture.js';

let folder = '';
let up: RunningGoshawk;
let environment: NodeJS.ProcessEnv = {};

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'goshawk-up-test-'));
  environment = { XDG_STATE_HOME: folder };
  const size = ['--workers', '4', '--schedulers', '2', '--data-folder', join(folder, 'data')];
  up = startGoshawk(['up', ...size], environment);
});

afterEach(async () => {
  up.kill('SIGKILL');
  await up.finished;
  await removeFolder(folder);
});

/** Returns a process and all its descendants. */
function familyOf(pid: number): number[] {
  return [pid, ...childrenOf(pid).flatMap((child) => familyOf(child.pid))];
}

async function expectGone(pids: readonly number[]): Promise<void> {
  await expect.poll(() => pids.filter(isRunning)).toEqual([]);
}

/** Starts a job whose task has started a background process. */
async function startTask(script: string): Promise<{ client: RunningGoshawk; pid: number }> {
  const line = `sleep 1000 & echo $! > pid.tmp; mv pid.tmp pid; ${script}`;
  const client = startGoshawk(['submit', '--wait', '--', 'sh', '-c', line], environment, { cwd: folder });
  const pid = await vi.waitFor(async () => Number(await readFile(join(folder, 'pid'), 'utf8')), {
    timeout: 60_000,
  });
  return { client, pid };
}

describe('goshawk up', () => {
  it('prints who may use it', async () => {
    await up.says(/every user of this machine can run commands on it as you; --secure/);
  });

  it('drains when it is interrupted, accepts nothing new, and leaves no process', async () => {
    await up.says(/the cluster is up at/);
    const { client, pid } = await startTask(
      'while [ ! -e go ]; do sleep 0.05; done; kill $!; echo made > made',
    );
    const family = familyOf(up.pid);
    expect(family.length).toBeGreaterThan(4);
    up.kill('SIGINT');
    await up.says(/draining: no new jobs are accepted; 1 running task and 0 waiting tasks finish first/);
    const refused = await vi.waitFor(
      async () => {
        const late = await runGoshawk(['submit', '--sleep', '1ms'], environment);
        expect(late.exitCode).toBe(3);
        return late;
      },
      { timeout: 60_000 },
    );
    expect(refused.stderr).toMatch(/^goshawk: .*shutting down.*\n$/);
    expect(isRunning(pid)).toBe(true);
    await writeFile(join(folder, 'go'), '');
    expect((await client.finished).exitCode).toBe(0);
    expect(await readFile(join(folder, 'made'), 'utf8')).toBe('made\n');
    expect((await up.finished).exitCode).toBe(0);
    await expectGone([...family, pid]);
    const { exitCode, stderr } = await runGoshawk(['jobs'], environment);
    expect(stderr).toMatch(/^goshawk: no cluster is running on this machine; start one with `goshawk up`/);
    expect(exitCode).toBe(3);
  });

  it('ends without tasks that cannot start, and says so', async () => {
    await up.says(/the cluster is up at/);
    const job = ['submit', '--require', 'rack=r9', '--sleep', '1ms'];
    expect((await runGoshawk(job, environment)).exitCode).toBe(0);
    expect((await runGoshawk(['submit', '--hold', '--sleep', '1ms'], environment)).exitCode).toBe(0);
    up.kill('SIGINT');
    await up.says(/no tasks are running or waiting, 2 tasks that cannot start are kept \(/);
    expect((await up.finished).exitCode).toBe(0);
  });

  it('outlives the terminal that started it, unless it uses this terminal', async () => {
    await up.says(/the cluster is up at/);
    for (const pid of [up.pid, ...familyOf(up.pid)]) process.kill(pid, 'SIGHUP');
    expect((await runGoshawk(['submit', '--sleep', '1ms', '--wait'], environment)).exitCode).toBe(0);
  });

  it.each(['SIGINT', 'SIGKILL'] as const)(
    'leaves no process, and no task, after a second %s',
    async (signal) => {
      await up.says(/the cluster is up at/);
      const { client, pid } = await startTask('wait');
      const family = familyOf(up.pid);
      // This client stops waiting; otherwise it would finally report that nothing answers.
      client.kill('SIGINT');
      expect((await client.finished).exitCode).toBe(130);
      up.kill('SIGINT');
      await up.says(/draining/);
      up.kill(signal);
      const { exitCode } = await up.finished;
      expect(exitCode).toBe(signal === 'SIGINT' ? 130 : null);
      await expectGone([...family, pid]);
    },
  );

  it('runs for a user without a writable state folder, prints how commands find it, and ends', async () => {
    const file = join(folder, 'file');
    await writeFile(file, '');
    const size = ['--workers', '1', '--schedulers', '1', '--data-folder', join(folder, 'other')];
    const stateless = startGoshawk(['up', ...size], { XDG_STATE_HOME: file });
    await stateless.says(
      /commands find this cluster only from \S+, or with --cluster tcp:\S+: a part of the path is not/,
    );
    const url = /the cluster is up at (\S+)/.exec(stateless.stderr())![1]!;
    const submit = ['submit', '--sleep', '1ms', '--wait', '--cluster', url];
    expect((await runGoshawk(submit, { XDG_STATE_HOME: file })).exitCode).toBe(0);
    const family = familyOf(stateless.pid);
    stateless.kill('SIGINT');
    expect((await stateless.finished).exitCode).toBe(0);
    await expectGone(family);
  });

  it('fails if its data folder cannot be created', async () => {
    const file = join(folder, 'file');
    await writeFile(file, '');
    for (const place of [join(file, 'data'), '/proc/x/y']) {
      const refused = await runGoshawk(['up', '--data-folder', place], environment);
      expect(refused.exitCode).toBe(2);
      expect(refused.stderr).toMatch(
        /^goshawk: cannot use the data folder .*; choose another with --data-folder\n$/,
      );
    }
  });

  // Reason: only root can create files of another user.
  it.runIf(process.getuid?.() === 0)(
    'refuses a data folder that another user has created, with its keys and jobs',
    async () => {
      const planted = join(folder, 'planted');
      await mkdir(join(planted, 'keys'), { recursive: true });
      await chown(planted, 54_322, 54_322);
      const refused = await runGoshawk(['up', '--data-folder', planted], environment);
      expect(refused.exitCode).toBe(2);
      expect(refused.stderr).toBe(
        `goshawk: cannot use the data folder ${planted}: ${planted} belongs to another user (uid 54322); choose another with --data-folder\n`,
      );
      expect(await readdir(planted)).toEqual(['keys']);
    },
  );

  it('fails if a cluster already runs from the folder, and prints its address', async () => {
    await up.says(/the cluster is up at/);
    const url = /the cluster is up at (\S+)/.exec(up.stderr())![1]!;
    const again = ['up', '--workers', '1', '--schedulers', '1', '--data-folder'];
    const second = await runGoshawk([...again, join(folder, 'data')], environment);
    expect(second.stderr).toContain(
      `goshawk: a cluster is already running from ${join(folder, 'data')}: process ${up.pid} on `,
    );
    expect(second.stderr).toContain(`, ${url}; use that cluster (--cluster), stop it with Ctrl-C, `);
    expect(second.stderr.trim().split('\n')).toHaveLength(1);
    expect(second.exitCode).toBe(2);
    const submitted = await runGoshawk(['submit', '--sleep', '1ms', '--wait'], environment);
    expect(submitted.exitCode).toBe(0);
    const family = familyOf(up.pid);
    up.kill('SIGKILL');
    await up.finished;
    await expectGone(family);
    const third = startGoshawk([...again, join(folder, 'data')], environment);
    await third.says(/the cluster is up at/);
    third.kill('SIGINT');
    expect((await third.finished).exitCode).toBe(0);
  });

  it('restarts exited processes indefinitely, and prints which ones are missing and back', async () => {
    await up.says(/the cluster is up at/);
    const port = Number(/the cluster is up at tcp:\/\/127.0.0.1:(\d+)/.exec(up.stderr())![1]!);
    const ofRole = (role: string) => childrenOf(up.pid).find(({ command }) => command.includes(role))?.pid;
    process.kill(ofRole('goshawk.js central')!, 'SIGKILL');
    await up.says(/central exited \(SIGKILL\); restarting it/);
    // Another process occupies its port for a while.
    const squatter = createServer().listen(port, '127.0.0.1');
    await up.says(/central cannot start: .*; retrying/);
    squatter.close();
    await up.says(/central is back/);
    process.kill(ofRole('--name s0 ')!, 'SIGKILL');
    await up.says(/s0 is back/);
    process.kill(ofRole('--name s0 ')!, 'SIGKILL');
    await vi.waitFor(() => expect(up.stderr().match(/s0 is back/g)).toHaveLength(2), { timeout: 30_000 });
    const submitted = await runGoshawk(['submit', '--sleep', '1ms', '--wait'], environment);
    expect(submitted).toMatchObject({ exitCode: 0 });
    const modeOf = async (...path: string[]) => (await stat(join(folder, 'data', ...path))).mode & 0o777;
    expect(await modeOf()).toBe(0o700);
    expect(await modeOf('logs', 's0.log')).toBe(0o600);
  });

  it('a stopped scheduler is named in lists of jobs, and in the exit code with --strict', async () => {
    await up.says(/the cluster is up at/);
    const { pid } = childrenOf(up.pid).find(({ command }) => command.includes('--name s0 '))!;
    process.kill(pid, 'SIGSTOP');
    const [listed, strict] = await Promise.all([
      runGoshawk(['jobs', '--all', '--json'], environment),
      runGoshawk(['jobs', '--all', '--strict'], environment),
    ]);
    expect(JSON.parse(listed.stdout)).toMatchObject({ silent: [expect.stringContaining('s0')] });
    expect(listed.exitCode).toBe(0);
    expect(strict.stdout + strict.stderr).toMatch(/s0/);
    expect(strict.exitCode).toBe(3);
    process.kill(pid, 'SIGCONT');
    await vi.waitFor(
      async () => expect(await runGoshawk(['jobs', '--strict'], environment)).toMatchObject({ exitCode: 0 }),
      { timeout: 60_000 },
    );
  });

  it('leaves no process if it is interrupted while it starts', async () => {
    await up.says(/starting/);
    await expect.poll(() => childrenOf(up.pid).length, { interval: 5 }).toBeGreaterThan(0);
    const family = familyOf(up.pid);
    up.kill('SIGINT');
    const { exitCode, stderr } = await up.finished;
    // If it was up before the signal arrived, it exits like a running cluster.
    expect(exitCode).toBe(stderr.includes('the cluster is up at') ? 0 : 130);
    await expectGone(family);
  });
});

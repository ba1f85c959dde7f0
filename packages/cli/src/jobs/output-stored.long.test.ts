import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { childrenOf, runGoshawk, startGoshawk } from '../goshawk-process.fixture.js';
import { removeFolder } from '../test-cluster.fixture.js';
import { TestDaemons } from '../test-daemons.fixture.js';

const daemons = new TestDaemons('output-stored', { beforeEach, afterEach });

test('output survives a restart of `up`, and a kill of all of its processes', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'goshawk-output-up-'));
  const up = async () => {
    const started = startGoshawk(
      ['up', '--json', '--workers', '2', '--schedulers', '2', '--data-folder', join(folder, 'data')],
      { XDG_STATE_HOME: folder },
    );
    const { cluster } = JSON.parse(await started.firstLine) as { cluster: string };
    return { started, at: ['--cluster', cluster] };
  };
  try {
    let running = await up();
    const printed = new Map<string, string>();
    for (const how of ['stopped', 'killed'] as const) {
      for (let index = 0; index < 4; index++) {
        const text = `${how} ${index}`;
        const { stdout } = await runGoshawk(['submit', ...running.at, '--', 'echo', text]);
        const id = stdout.trim();
        expect((await runGoshawk(['wait', id, ...running.at])).exitCode).toBe(0);
        printed.set(id, `${text}\n`);
      }
      if (how === 'stopped') running.started.kill('SIGINT');
      else {
        const children = childrenOf(running.started.pid);
        for (const pid of [running.started.pid, ...children.map((child) => child.pid)])
          process.kill(pid, 'SIGKILL');
      }
      await running.started.finished;
      running = await up();
      for (const [id, text] of printed)
        expect(await runGoshawk(['logs', id, ...running.at])).toMatchObject({ stdout: text, stderr: '' });
    }
    running.started.kill('SIGINT');
    await running.started.finished;
  } finally {
    await removeFolder(folder);
  }
});

test('a full disk loses the oldest output and says so, and refuses no job for it', async (context) => {
  const disk = join(daemons.folder, 's0');
  mkdirSync(disk);
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=170m', 'tmpfs', disk], { stdio: 'ignore' });
  } catch {
    context.skip('only root may mount a small disk');
  }
  try {
    await daemons.startCentral();
    const scheduler = await daemons.startScheduler('s0');
    await daemons.startWorker('w0', ['--cpus', '4']);
    await using cluster = await daemons.connect();
    const print = 'head -c 900000 /dev/zero | tr "\\0" x';
    const ids: string[] = [];
    for (let index = 0; index < 6; index++) {
      const job = await cluster.submit({
        tasks: Array.from({ length: 6 }, () => ({ exec: ['sh', '-c', print] as [string, ...string[]] })),
      });
      expect((await job.wait()).state).toBe('completed');
      ids.push(job.id);
    }
    await scheduler.kill();
    await daemons.startScheduler('s0');
    const at = ['--cluster', daemons.url];
    const [oldest, newest] = [ids[0]!, ids.at(-1)!];
    const gone = await runGoshawk(['logs', oldest, ...at]);
    expect(gone.stderr).toMatch(
      /some output is gone: the disk of .* was full, so the oldest output was deleted/,
    );
    const kept = await runGoshawk(['logs', newest, ...at]);
    expect([kept.stdout.length, kept.stderr]).toEqual([6 * 900_000, '']);
  } finally {
    await daemons.stop();
    execFileSync('umount', [disk]);
  }
});

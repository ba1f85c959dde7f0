import { mkdir, mkdtemp, readlink, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { childrenOf, runGoshawk, startGoshawk } from '../goshawk-process.fixture.js';
import { removeFolder } from '../test-cluster.fixture.js';

it('a cluster survives the removal of its start folder, and commands find it by its data folder', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'goshawk-start-'));
  const start = join(folder, 'start');
  await mkdir(start);
  await writeFile(join(folder, 'm.mjs'), 'export default () => 7;');
  const size = ['--workers', '1', '--schedulers', '1', '--data-folder', '../data'];
  const up = startGoshawk(['up', ...size], { XDG_STATE_HOME: join(folder, 'state') }, { cwd: start });
  try {
    await up.says(/the cluster is up at/);
    await rm(start, { recursive: true });
    // Commands run as from cron or sudo, with a different state folder.
    const goshawk = (...args: string[]) =>
      runGoshawk(args, { XDG_STATE_HOME: join(folder, 'other') }, { cwd: folder });
    const module = join(folder, 'm.mjs');
    expect((await goshawk('submit', '--results', '-q', '--module', module)).stdout.trim()).toBe('7');
    const children = childrenOf(up.pid);
    for (const { pid } of children) expect(await readlink(`/proc/${pid}/cwd`)).toBe('/');
    for (const { pid } of children) process.kill(pid, 'SIGKILL');
    for (const name of ['central', 's0', 'workers0'])
      await up.says(new RegExp(`^(goshawk: )?${name} is back`, 'm'));
    const after = await goshawk('submit', '--wait', '--logs', '-q', '--cwd', folder, '--', 'pwd');
    expect(after.stdout.trim()).toBe(folder);
    expect((await goshawk('jobs')).exitCode).toBe(0);
  } finally {
    up.kill('SIGKILL');
    await up.finished;
    await removeFolder(folder);
  }
});

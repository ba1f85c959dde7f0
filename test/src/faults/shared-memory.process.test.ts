import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { firstLine, GOSHAWK } from '@goshawk/cli/testing';
import { connect } from '@goshawk/client';
import { afterEach, beforeEach, expect, test } from 'vitest';

/** Replaces /dev/shm by a full one in a separate mount namespace, and runs the arguments there. */
const WITH_FULL_SHM = `
mount -t tmpfs -o size=16k tmpfs /dev/shm || exit 9
head -c 1000000 /dev/zero > /dev/shm/filler 2> /dev/null
exec "$@"
`;
const ENTER = ['unshare', '-rm', 'sh', '-c', WITH_FULL_SHM, 'sh'] as const;
const mayEnter = spawnSync(ENTER[0], [...ENTER.slice(1), 'true']).status === 0;

let folder = '';
let cluster: ChildProcess | undefined;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'goshawk-shm-'));
});
afterEach(async () => {
  if (cluster !== undefined && cluster.exitCode === null) {
    const gone = once(cluster, 'exit');
    cluster.kill('SIGTERM');
    await gone;
  }
  rmSync(folder, { recursive: true, force: true });
});

test.skipIf(!mayEnter)(
  'a cluster starts and runs commands and modules while /dev/shm is full (only with the right to mount)',
  async () => {
    const args = ['up', '--workers', '1', '--schedulers', '1', '--data-folder', folder, '--json'];
    const [program, ...rest] = [...ENTER, process.execPath, GOSHAWK, ...args];
    cluster = spawn(program, rest, {
      stdio: ['ignore', 'pipe', 'ignore'],
      env: { PATH: process.env.PATH, HOME: folder, XDG_STATE_HOME: folder, GOSHAWK_SECURE: 'false' },
    });
    const { cluster: url } = await firstLine<{ cluster: string }>(cluster, 'up', () => `see ${folder}`);
    await using client = await connect(url, { requestTimeoutMs: 30_000 });
    const module = join(folder, 'double.mjs');
    writeFileSync(module, 'export default (n) => n * 2;');
    const full = 'if echo x > /dev/shm/more; then exit 1; fi 2> /dev/null; exit 0';
    const command = await client.submit({ tasks: [{ exec: ['sh', '-c', full] }] });
    expect((await command.wait()).state).toBe('completed');
    const doubled = await client.submit({ tasks: [{ module, input: 21 }] });
    expect((await doubled.wait()).state).toBe('completed');
  },
);

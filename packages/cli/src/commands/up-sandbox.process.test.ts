import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { chmod, mkdir, mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, describe, expect, it } from 'vitest';
import { type RunningGoshawk, runGoshawk, startGoshawk } from '../goshawk-process.fixture.js';
import { removeFolder } from '../test-cluster.fixture.js';

let folder = '';
let up: RunningGoshawk;

afterEach(async () => {
  up.kill('SIGKILL');
  await up.finished;
  await removeFolder(folder);
});

// Reason: tasks of root run as nobody, in sandboxes made with bwrap.
const missing = process.getuid?.() !== 0 ? 'not root' : existsSync('/usr/bin/bwrap') ? undefined : 'no bwrap';

describe.skipIf(missing !== undefined)(
  `goshawk up in a sandbox${missing ? ` (skipped: ${missing})` : ''}`,
  () => {
    it.each([
      ['with keys', ['--secure']],
      ['without keys', []],
    ])('runs tasks in the folder that contains its data, %s', async (_, options) => {
      folder = await mkdtemp(join(tmpdir(), 'goshawk-up-sandbox-'));
      const work = join(folder, 'work');
      await mkdir(work);
      await chmod(folder, 0o755);
      const environment = { XDG_STATE_HOME: join(folder, 'state') };
      const args = ['up', '--workers', '1', '--run-as', 'sandbox', ...options];
      up = startGoshawk(args, environment, { cwd: work });
      await up.says(/the cluster is up at/);
      const script = 'id -un; pwd; find . -type f';
      const ran = await runGoshawk(['run', '--', 'sh', '-c', script], environment, { cwd: work });
      expect(ran).toMatchObject({ exitCode: 0, stdout: `nobody\n${work}\n` });
    });

    it('isolates tasks, or refuses to start, if its folder has keys of other users', async () => {
      folder = await mkdtemp(join(tmpdir(), 'goshawk-up-sandbox-'));
      await chmod(folder, 0o755);
      const environment = { XDG_STATE_HOME: join(folder, 'state') };
      await runGoshawk(['keygen', 'keys'], environment, { cwd: folder });
      await runGoshawk(['keygen', 'client', 'ci', 'keys'], environment, { cwd: folder });
      // The account of the task may list the folder, unless the sandbox hides it.
      await chmod(join(folder, 'keys'), 0o755);
      const args = ['up', '--workers', '1', '--secure', '--keys', 'keys'];
      // Without namespaces of users, bubblewrap does not work.
      const goshawk = fileURLToPath(new URL('../../bin/goshawk.js', import.meta.url));
      const without = 'echo 0 >/proc/sys/user/max_user_namespaces; exec "$@"';
      const refused = spawnSync(
        'unshare',
        ['-Ur', 'sh', '-c', without, 'sh', process.execPath, goshawk, ...args],
        {
          cwd: folder,
          env: { ...process.env, ...environment },
          encoding: 'utf8',
          timeout: 60_000,
        },
      );
      expect(refused.stderr).toMatch(/keys has keys of other users \(ci\), whose tasks would run as you/);
      expect(refused.status).toBe(2);
      up = startGoshawk(args, environment, { cwd: folder });
      await up.says(/tasks run in a sandbox/);
      await up.says(/the cluster is up at/);
      const script = 'id -un; ls keys; cat keys/*.key';
      const ran = await runGoshawk(['run', '--keys', 'keys', '--', 'sh', '-c', script], environment, {
        cwd: folder,
      });
      expect(ran.stdout).toBe('nobody\n');
    });
  },
);

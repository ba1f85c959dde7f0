import { existsSync } from 'node:fs';
import { chmod, mkdir, mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
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
  },
);

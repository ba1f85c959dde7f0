import { execFile } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { TestCluster } from './test-cluster.fixture.js';

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));
const GOSHAWK = join(ROOT, 'packages/cli/bin/goshawk.js');

let cluster: TestCluster;
beforeAll(async () => {
  // This is step 2; step 1 builds.
  cluster = await TestCluster.start(['--workers', '4']);
});
afterAll(() => cluster.stop());

it('steps 3 to 6 of the tutorial of docs/TUTORIAL.md work as described', async () => {
  const page = await readFile(join(ROOT, 'docs/TUTORIAL.md'), 'utf8');
  const steps = page.slice(page.indexOf('## 3. '));
  const shown = [...steps.matchAll(/```sh\n([\s\S]*?)```/g)].map(([, text]) => text);
  const policy = /```js\n([\s\S]*?)```/.exec(steps)![1]!;
  await writeFile(join(cluster.folder, 'oldest-first.mjs'), policy);
  const script = [`goshawk() { "${process.execPath}" "${GOSHAWK}" "$@"; }`, ...shown].join('\n');

  const { stdout } = await bash(script, cluster.folder);

  expect(stdout).toMatch(/hello from 0/);
  expect(stdout).toMatch(/^9$/m);
  expect(stdout).toMatch(/matching .*: they wait at central for a worker/);
  expect(stdout).toMatch(/ids?\b.*class.*state/);
  expect(stdout).toMatch(/^goshawk against hawk: short p50 0\./m);
  expect(stdout).toMatch(/^simulated as it ran/m);
  expect(stdout).toMatch(/^\.\/oldest-first\.mjs against goshawk: short p50 \d\d+/m);
  expect(await readFile(join(cluster.folder, 'compare.html'), 'utf8')).toContain('<html');
});

/** Runs a script up to the first command that fails, as a reader would, and throws its output. */
function bash(script: string, cwd: string) {
  const inherited = Object.entries(process.env).filter(([name]) => !name.startsWith('GOSHAWK_'));
  const env = { ...Object.fromEntries(inherited), XDG_STATE_HOME: cwd };
  const running = promisify(execFile)('bash', ['-e', '-c', script], { cwd, env });
  running.child.stdin?.end();
  return running;
}

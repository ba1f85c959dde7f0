import { spawn } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { TestCluster } from './test-cluster.fixture.js';

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));
const GOSHAWK = join(ROOT, 'packages/cli/bin/goshawk.js');

let cluster: TestCluster;
beforeAll(async () => {
  // Step 2; step 1 builds.
  cluster = await TestCluster.start(['--workers', '4']);
});
afterAll(() => cluster.stop());

it('steps 3 to 6 of the tutorial of docs/USE.md do what they say', async () => {
  const page = await readFile(join(ROOT, 'docs/USE.md'), 'utf8');
  const steps = page.slice(page.indexOf('### 3. '), page.indexOf('## Commands'));
  const shown = [...steps.matchAll(/```sh\n([\s\S]*?)```/g)].map(([, text]) => text);
  const policy = /```js\n([\s\S]*?)```/.exec(steps)![1]!;
  await writeFile(join(cluster.folder, 'oldest-first.mjs'), policy);
  const script = [`goshawk() { "${process.execPath}" "${GOSHAWK}" "$@"; }`, ...shown].join('\n');

  const { exitCode, stdout, stderr } = await bash(script, cluster.folder);

  expect(exitCode, stderr).toBe(0);
  expect(stdout).toMatch(/hello from 0/);
  expect(stdout).toMatch(/^9$/m);
  expect(stdout).toMatch(/matching .*: no worker is free for them/);
  expect(stdout).toMatch(/ids?\b.*class.*state/);
  expect(stdout).toMatch(/^goshawk against hawk: short p50 0\./m);
  expect(stdout).toMatch(/^simulated as it ran/m);
  expect(stdout).toMatch(/^\.\/oldest-first\.mjs against goshawk: short p50 \d\d+/m);
  expect(await readFile(join(cluster.folder, 'compare.html'), 'utf8')).toContain('<html');
});

/** Ends at the first command that fails, as a reader would. */
function bash(script: string, cwd: string): Promise<{ exitCode: number; stdout: string; stderr: string }> {
  const inherited = Object.entries(process.env).filter(([name]) => !name.startsWith('GOSHAWK_'));
  const env = { ...Object.fromEntries(inherited), XDG_STATE_HOME: cwd };
  const child = spawn('bash', ['-e', '-c', script], { cwd, env, stdio: ['ignore', 'pipe', 'pipe'] });
  let stdout = '';
  let stderr = '';
  child.stdout.on('data', (bytes) => {
    stdout += bytes;
  });
  child.stderr.on('data', (bytes) => {
    stderr += bytes;
  });
  return new Promise((resolve, reject) => {
    child
      .on('error', reject)
      .on('close', (exitCode) => resolve({ exitCode: exitCode ?? -1, stdout, stderr }));
  });
}

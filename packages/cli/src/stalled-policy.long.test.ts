import { mkdtemp, readFile, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { removeFolder, TestCluster } from './test-cluster.fixture.js';

test('a policy that never returns is named in the log, and does not prevent a shutdown', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'goshawk-stall-'));
  const file = join(folder, 'hangs.mjs');
  const plan = 'plan(cluster) { if ([...cluster.jobs].length > 0) for (;;); }';
  await writeFile(
    file,
    `export default { title: 'x', declares: false, options: {}, make: () => ({ update() {}, ${plan} }) };`,
  );
  const cluster = await TestCluster.start(['--workers', '1', '--schedulers', '1', '--policy', file]);
  try {
    const id = (await cluster.goshawk(['submit', '--sleep', '10ms'])).stdout.trim();
    const log = join(cluster.folder, 'data', 'logs', 'central.log');
    await expect
      .poll(() => readFile(log, 'utf8'), { timeout: 120_000 })
      .toMatch(/"level":60,.*"policy":".*hangs\.mjs".*the policy does not return: central exits/);
    expect(await readFile(log, 'utf8')).toMatch(/"stoodMs":5000,"msg":"the policy has not returned/);
    await cluster.goshawk(['cancel', id]);
  } finally {
    await cluster.stop();
    await removeFolder(folder);
  }
});

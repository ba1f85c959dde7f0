import { existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { TestDaemons } from '@goshawk/cli/testing';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';

const LIMIT_BYTES = 256 * 1024 * 1024;

/** A cgroup with a memory limit, like a container's; undefined if this user may not create one. */
function groupOf(bytes: number): string | undefined {
  const places = [
    ['/sys/fs/cgroup/memory', 'memory.limit_in_bytes'],
    ['/sys/fs/cgroup', 'memory.max'],
  ] as const;
  for (const [root, limit] of places) {
    const group = join(root, `goshawk-test-${process.pid}`);
    try {
      mkdirSync(group);
      if (!existsSync(join(group, limit))) throw new Error('memory is not limited here');
      writeFileSync(join(group, limit), `${bytes}`);
      return group;
    } catch {
      if (existsSync(group)) rmdirSync(group);
    }
  }
  return undefined;
}

const group = groupOf(LIMIT_BYTES);
afterEach(async () => {
  // The cgroup can be removed after its last process has exited.
  await vi.waitFor(() => {
    if (group !== undefined) rmdirSync(group);
  });
});
const daemons = new TestDaemons('memory-limit', { beforeEach, afterEach });

test.skipIf(group === undefined)(
  'a module that allocates without limit fails as out-of-memory on a worker of 256 MiB, and the worker and its other tasks continue (only if cgroups can be created)',
  async () => {
    const { folder } = daemons;
    const joining = join(folder, 'join-group.cjs');
    writeFileSync(
      joining,
      `require('node:fs').writeFileSync(${JSON.stringify(join(group!, 'cgroup.procs'))}, String(process.pid));`,
    );
    const module = join(folder, 'eats.mjs');
    writeFileSync(
      module,
      'export default () => { for (const all = []; ; ) all.push(new Array(1e5).fill(0.5)); };',
    );
    await daemons.startCentral();
    await daemons.startScheduler('s');
    const environment = { NODE_OPTIONS: `--require ${joining}` };
    const worker = await daemons.startWorker('w', ['--cpus', '4'], environment);
    await using client = await daemons.connect();
    await expect.poll(async () => (await client.describe()).workers).toHaveLength(1);
    expect(readFileSync(join(group!, 'cgroup.procs'), 'utf8').split('\n')).toContain(`${worker.pid}`);
    const others = await client.submit({ tasks: { count: 3, run: daemons.held } });
    await expect.poll(async () => (await others.describe()).tasks.running).toBe(3);
    const eats = await client.submit({ tasks: [{ module }, { module }, { module }] });
    const { state, failures, attempts } = await eats.wait();
    expect({ state, attempts }).toMatchObject({ state: 'failed', attempts: { total: 3, lost: 0 } });
    expect(failures.map(({ code }) => code)).toStrictEqual([
      'out-of-memory',
      'out-of-memory',
      'out-of-memory',
    ]);
    daemons.letGo();
    expect(await others.wait()).toMatchObject({ state: 'completed', attempts: { total: 3, lost: 0 } });
    expect((await client.counters()).central).toMatchObject({ workersJoined: 1, workersLost: 0 });
  },
);

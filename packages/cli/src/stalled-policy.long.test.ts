import { readdirSync, readFileSync } from 'node:fs';
import { mkdtemp, readFile, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '@goshawk/journal/testing';
import { expect, test } from 'vitest';
import { removeFolder, TestCluster } from './test-cluster.fixture.js';

const LOOP = 'for (;;);';
const HAS_JOBS = 'if ([...cluster.jobs].length > 0)';

const STALLS = 'did not return from a call';
const ENDS = 'ended its process';

test.each([
  ['plan', STALLS, `plan(cluster) { ${HAS_JOBS} ${LOOP} }, update() {}`],
  ['a timer', STALLS, `plan(cluster) { ${HAS_JOBS} setTimeout(() => { ${LOOP} }, 10); }, update() {}`],
  ['plan', ENDS, `plan(cluster) { ${HAS_JOBS} process.exit(0); }, update() {}`],
  [
    'update, again after a restart,',
    ENDS,
    `plan() {}, update(changes) { if (changes.some(({ kind }) => kind === 'opened')) process.kill(process.pid, 'SIGKILL'); }`,
  ],
])('a policy that in %s %s is replaced by goshawk', async (_, why, methods) => {
  const folder = await mkdtemp(join(tmpdir(), 'goshawk-stall-'));
  const file = join(folder, 'hangs.mjs');
  await writeFile(
    file,
    `export default { title: 'x', declares: false, options: {}, make: () => ({ ${methods} }) };`,
  );
  const cluster = await TestCluster.start(['--workers', '1', '--schedulers', '1', '--policy', file]);
  try {
    const done = await cluster.goshawk(['submit', '--sleep', '10ms', '--wait']);
    expect(done.exitCode).toBe(0);
    const log = () => readFile(join(cluster.folder, 'data', 'logs', 'central.log'), 'utf8');
    await expect.poll(log, { timeout: 60_000 }).toMatch(/"event":"policy-replaced".*hangs\.mjs/);
    const lines = (await log())
      .split('\n')
      .filter((line) => /"level":60|policy-replaced/.test(line))
      .map((line) => JSON.parse(line) as { msg: string; policy: string; stoodMs?: number; time: string });
    expect(lines.at(-1)!.policy).toBe(file);
    if (why === STALLS) {
      const [fatal] = lines;
      expect(fatal).toMatchObject({
        policy: file,
        msg: expect.stringMatching(/^the policy does not return/),
      });
      expect(fatal!.stoodMs).toBeLessThanOrEqual(5_000);
    }
    expect((await cluster.goshawk(['submit', '--cpus', '1', '--sleep', '10ms', '--wait'])).exitCode).toBe(0);
    expect((await cluster.goshawk(['why'])).stderr).toMatch(
      new RegExp(`central runs the policy goshawk, because \\S*hangs\\.mjs ${why}`),
    );
  } finally {
    await cluster.stop();
    await removeFolder(folder);
  }
});

test('central restarts with its policy if somebody kills it, and a policy that blocks its exit does not outlive it', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'goshawk-killed-'));
  const file = join(folder, 'lasts.mjs');
  const pidFile = join(folder, 'pid');
  await writeFile(
    file,
    `
    import { writeFileSync } from 'node:fs';
    process.on('exit', () => { ${LOOP} });
    export default { title: 'x', declares: false, options: {}, make: () => {
      writeFileSync(${JSON.stringify(pidFile)}, String(process.pid));
      return { update() {}, plan(cluster) { ${HAS_JOBS} throw new Error('in order of arrival'); } };
    } };`,
  );
  const pid = async () => Number(await readFile(pidFile, 'utf8'));
  const hasPolicy = (of: string) => {
    try {
      return readFileSync(`/proc/${of}/cmdline`, 'utf8').includes(file);
    } catch {
      return false;
    }
  };
  const cluster = await TestCluster.start(['--workers', '1', '--schedulers', '1', '--policy', file]);
  try {
    const first = await pid();
    process.kill(first, 'SIGKILL');
    await expect.poll(pid).not.toBe(first);
    expect((await cluster.goshawk(['submit', '--sleep', '10ms', '--wait'])).exitCode).toBe(0);
    expect((await cluster.goshawk(['why'])).stderr).not.toMatch(/central runs the policy goshawk/);
    expect(readdirSync('/proc').filter(hasPolicy)).toContain(String(await pid()));
  } finally {
    await cluster.stop();
    await removeFolder(folder);
  }
  await expect.poll(() => readdirSync('/proc').filter(hasPolicy), { timeout: 20_000 }).toEqual([]);
});

test('exceptions of a policy in timers and promises are counted as its own, and end no central', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'goshawk-throws-'));
  const file = join(folder, 'throws.mjs');
  await writeFile(
    file,
    `
    for (const ms of [0, 300]) setTimeout(() => { throw new Error('from the module'); }, ms);
    export default { title: 'x', declares: false, options: {}, make: () => ({
      update() {},
      plan(cluster, draft) {
        if ([...cluster.jobs].length === 0) return;
        setTimeout(() => { throw new Error('in a timer'); }, 1);
        setTimeout(() => draft.again(1e9), 1);
        setImmediate(() => { throw 7; });
        Promise.resolve().then(() => { throw new Error('in a promise'); });
        void Promise.reject('a text');
        void Promise.reject(undefined);
        queueMicrotask(() => JSON.parse('{'));
        process.nextTick(() => { null.x; });
        for (const job of cluster.jobs)
          for (const stage of job.stages)
            for (const worker of cluster.workers) while (draft.start(stage, worker));
      },
    }) };`,
  );
  const estimator = join(folder, 'late.mjs');
  await writeFile(
    estimator,
    `export default { title: 'x', make: () => ({
      name: 'x', savedCharactersMax: 1, weigh() {}, learn() {}, save() {}, load() {},
      predict() { setTimeout(() => { throw undefined; }, 1); return { kind: 'unknown' }; },
    }) };`,
  );
  const modules = ['--policy', file, '--estimator', estimator];
  const http = `127.0.0.1:${await freePort()}`;
  const cluster = await TestCluster.start([
    '--workers',
    '1',
    '--schedulers',
    '1',
    '--http',
    http,
    ...modules,
  ]);
  try {
    for (let i = 0; i < 3; i++)
      expect((await cluster.goshawk(['submit', '--sleep', '10ms', '--wait'])).exitCode).toBe(0);
    const log = await readFile(join(cluster.folder, 'data', 'logs', 'central.log'), 'utf8');
    expect(log).toMatch(/"event":"policy-failed".*"failures":16/);
    expect(log.match(/"msg":"central is up"/g)).toHaveLength(1);
    const ofScheduler = await readFile(join(cluster.folder, 'data', 'logs', 's0.log'), 'utf8');
    expect(ofScheduler).toMatch(/"event":"estimator-failed".*late\.mjs.*"failures":2/);
    expect(ofScheduler.match(/"msg":"scheduler is up"/g)).toHaveLength(1);
    const targets = (await (await fetch(`http://${http}/targets`)).json()) as { targets: string[] }[];
    const pages = targets
      .flatMap(({ targets }) => targets)
      .map((target) => fetch(`http://${target}/metrics`));
    const metrics = (await Promise.all((await Promise.all(pages)).map((page) => page.text()))).join('');
    expect(metrics).toMatch(/^goshawk_scheduler_estimator_failures_total [3-9]$/m);
  } finally {
    await cluster.stop();
    await removeFolder(folder);
  }
});

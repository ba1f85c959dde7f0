import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect } from '@goshawk/client';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { TestCluster } from '../test-cluster.fixture.js';

let up: TestCluster;

beforeAll(async () => {
  const size = ['--workers', '2', '--cpus', '4', '--schedulers', '1', '--resources', 'cpu=4,license=2'];
  up = await TestCluster.start(['--policy', 'drf', '--share-by', 'user', ...size]);
});

afterAll(async () => {
  await up.stop();
});

it('shares shows actual and fair shares by job and by user, and why shows those of a waiting job', async () => {
  await using cluster = await connect(up.url);
  const submit = (user: string, tasks: number) =>
    cluster.submit({
      user,
      stages: [
        {
          name: 'only',
          tasks: { count: tasks, run: { sleep: '1h' } },
          demand: { license: 1 },
          estimate: '1h',
        },
      ],
    });
  const first = await submit('ann', 3);
  await expect.poll(async () => (await first.describe()).tasks.running).toBe(3);
  const second = await submit('ben', 2);
  await expect.poll(async () => (await second.describe()).tasks.running).toBe(1);

  const byUser = JSON.parse((await up.goshawk(['shares', '--json'])).stdout);
  expect(byUser).toMatchObject({
    schema: 'goshawk.shares/1',
    by: 'user',
    sharedBy: 'user',
    total: 2,
    truncated: false,
    shares: [
      { user: 'ann', jobs: 1, running: 3, waiting: 0, share: 0.75, of: 'license', dueShare: 0.5 },
      { user: 'ben', jobs: 1, running: 1, waiting: 1, share: 0.25, of: 'license', dueShare: 0.5 },
    ],
  });
  const byJob = JSON.parse((await up.goshawk(['shares', '--by', 'job', '--json'])).stdout);
  expect(byJob.shares.map(({ job, user }: Record<string, string>) => [job, user])).toEqual([
    [first.id, 'ann'],
    [second.id, 'ben'],
  ]);
  const shown = await up.goshawk(['shares']);
  expect(shown.stdout).toMatch(/ann .* 75\.0% +license +50\.0%/);
  expect(shown.stderr).toContain('the fair shares of users are proportional to their weights');
  expect((await up.goshawk(['why', second.id])).stdout).toMatch(
    /no worker has room for it now; its job has 25% of license, and 50% is its fair share/,
  );
  await Promise.all([first.cancel(), second.cancel()]);
});

it('--users assigns shares, reloads the file, and ignores an invalid one', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'goshawk-users-'));
  const file = join(folder, 'users.json');
  writeFileSync(file, '{"ann": {"weight": 1}, "ben": {"weight": 3}}');
  const size = ['--workers', '1', '--cpus', '8', '--schedulers', '1'];
  const other = await TestCluster.start([...size, '--users', file]);
  try {
    await using cluster = await connect(other.url);
    const jobs = await Promise.all(
      ['ann', 'ben'].map((user) =>
        cluster.submit({ user, tasks: { count: 2_000, run: { sleep: '30ms' } }, estimate: '30ms' }),
      ),
    );
    const completed = async () =>
      (await Promise.all(jobs.map((job) => job.describe()))).map(({ tasks }) => tasks.completed);
    const between = async (tasks: number): Promise<number> => {
      const before = await completed();
      await expect
        .poll(async () => (await completed()).reduce((sum, each, at) => sum + each - before[at]!, 0), {
          timeout: 30_000,
        })
        .toBeGreaterThan(tasks);
      const after = await completed();
      return (after[1]! - before[1]!) / (after[0]! - before[0]!);
    };
    await between(80);
    const ratio = await between(400);
    expect(ratio).toBeGreaterThan(2.4);
    expect(ratio).toBeLessThan(3.8);
    const shares = async () =>
      Object.fromEntries(
        JSON.parse((await other.goshawk(['shares', '--json'])).stdout).shares.map(
          ({ user, weight }: { user: string; weight: number }) => [user, weight],
        ),
      );
    expect(await shares()).toEqual({ ann: 1, ben: 3 });
    writeFileSync(file, '{"ann": {"weight": 3}}');
    await expect.poll(shares, { timeout: 15_000 }).toEqual({ ann: 3, ben: 1 });
    writeFileSync(file, '{"ann": {"wieght": 4}}');
    await expect
      .poll(() => readFileSync(join(other.folder, 'data', 'logs', 'central.log'), 'utf8'), {
        timeout: 15_000,
      })
      .toMatch(/users.json: line 1, column 10: .*the users are unchanged/);
    expect(await shares()).toEqual({ ann: 3, ben: 1 });
    await Promise.all(jobs.map((job) => job.cancel()));
  } finally {
    await other.stop();
    rmSync(folder, { recursive: true });
  }
});

it('--users limits running and waiting tasks of users in the cluster, and why names the limit', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'goshawk-limits-'));
  const file = join(folder, 'users.json');
  writeFileSync(file, '{"*": {"running": 2, "waiting": 20, "cpus": 3}}');
  const other = await TestCluster.start([
    ...['--workers', '2', '--cpus', '4', '--schedulers', '2', '--users', file],
  ]);
  try {
    await using cluster = await connect(other.url);
    const submit = (user: string, count: number) =>
      cluster.submit({ user, tasks: { count, run: { sleep: '1h' } }, estimate: '1h' });
    const ann = await submit('ann', 6);
    const running = async (job: typeof ann) => (await job.describe()).tasks.running;
    await expect.poll(() => running(ann), { timeout: 30_000 }).toBe(2);
    const ben = await submit('ben', 6);
    await expect.poll(() => running(ben), { timeout: 30_000 }).toBe(2);
    expect(await running(ann)).toBe(2);
    await expect
      .poll(async () => (await other.goshawk(['why', ann.id])).stdout, { timeout: 30_000 })
      .toContain('--users allows user ann 2 running tasks at a time; tasks that run or start first take 2');
    const never = await other.goshawk(['submit', '--cpus', '4', '--', 'true']);
    expect(never.exitCode).toBe(2);
    expect(never.stderr).toMatch(/may use 3 CPUs at a time, and a task of this job requests 4 CPUs/);
    const tooMany = await other.goshawk(['submit', '--tasks', '30', '--', 'true']);
    expect(tooMany.exitCode).toBe(2);
    expect(tooMany.stderr).toMatch(/may have 20 waiting tasks and has 0; this request adds 30/);
    writeFileSync(file, '{"*": {"running": 4}}');
    await expect.poll(() => running(ann), { timeout: 30_000 }).toBe(4);
    await Promise.all([ann.cancel(), ben.cancel()]);
  } finally {
    await other.stop();
    rmSync(folder, { recursive: true });
  }
});

it('shares are shown under a policy without shares too', async () => {
  const other = await TestCluster.start(['--workers', '2', '--schedulers', '1']);
  try {
    await using cluster = await connect(other.url);
    const job = await cluster.submit({
      user: 'ann',
      tasks: { count: 3, run: { sleep: '1h' } },
      estimate: '1h',
    });
    await expect.poll(async () => (await job.describe()).tasks.running).toBeGreaterThan(0);
    const { shares } = JSON.parse((await other.goshawk(['shares', '--by', 'user', '--json'])).stdout);
    expect(shares).toMatchObject([{ user: 'ann', jobs: 1 }]);
    await job.cancel();
  } finally {
    await other.stop();
  }
});

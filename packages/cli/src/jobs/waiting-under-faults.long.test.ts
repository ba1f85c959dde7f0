import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { connect } from '@goshawk/client';
import { expect, it } from 'vitest';
import { TestCluster } from '../test-cluster.fixture.js';

const WAIT_OPTIONS = { timeout: 60_000 };
/** Maximum clock difference between two schedulers. */
const CLOSE_MS = 50;
/** Returns a command that exits once a file exists. */
const untilGo = ({ folder }: TestCluster) => [
  'sh',
  '-c',
  `while [ ! -e '${join(folder, 'go')}' ]; do sleep 0.05; done`,
];

it('dependent jobs start once, after their predecessors, although schedulers are killed', async () => {
  const up = await TestCluster.start(['--workers', '8', '--schedulers', '2']);
  try {
    await using cluster = await connect(up.url);
    const submit = (after: string[]) =>
      cluster.submit({ name: 'next', user: 'ada', tasks: { count: 2, run: { sleep: 1 } }, after });
    const first = await cluster.submit({ name: 'first', tasks: [{ exec: untilGo(up) }] });
    const second = await Promise.all(Array.from({ length: 6 }, () => submit([first.id])));
    const owners = () => new Set([first, ...second].map(({ id }) => id.slice(0, id.indexOf('-')))).size;
    // Keys, which determine a job's scheduler, are random.
    while (owners() < 2) second.push(await submit([first.id]));
    const last = await submit(second.map(({ id }) => id));
    await expect.poll(async () => (await first.describe()).tasks.running, WAIT_OPTIONS).toBe(1);

    const schedulers = () => up.children().filter(({ command }) => command.includes('goshawk.js scheduler'));
    const before = schedulers();
    expect(before).toHaveLength(2);
    for (const { pid } of before) process.kill(pid, 'SIGKILL');
    const areBack = () => schedulers().filter(({ pid }) => before.every((old) => old.pid !== pid)).length;
    await expect.poll(areBack, WAIT_OPTIONS).toBe(2);
    for (const job of [...second, last])
      await expect.poll(async () => (await job.describe()).state, WAIT_OPTIONS).toBe('waiting');

    await writeFile(join(up.folder, 'go'), '');
    const spanOf = async (id: string) => {
      const { state } = await cluster.job(id).wait({ timeoutMs: 60_000 });
      expect(state).toBe('completed');
      const { attempts, attemptList, submittedAt } = await cluster.job(id).describe();
      expect(attempts, 'nothing runs twice').toMatchObject({ total: attemptList.length, lost: 0 });
      const starts = attemptList.map(({ startedMs }) => submittedAt + startedMs);
      const ends = attemptList.map(({ startedMs, runMs }) => submittedAt + startedMs + runMs);
      return { from: Math.min(...starts), to: Math.max(...ends) };
    };
    const times = await Promise.all(second.map(({ id }) => spanOf(id)));
    const [gone, end] = [await spanOf(first.id), await spanOf(last.id)];
    for (const { from, to } of times) {
      expect(from).toBeGreaterThan(gone.to - CLOSE_MS);
      expect(end.from).toBeGreaterThan(to - CLOSE_MS);
    }
  } finally {
    await writeFile(join(up.folder, 'go'), '');
    await up.stop();
  }
});

it('a job waits for the only matching worker while it is killed and restarted', async () => {
  const up = await TestCluster.start(['--workers', '3', '--attribute', 'planet=earth']);
  try {
    await using cluster = await connect(up.url);
    const attribute = ['--name', 'rover', '--attribute', 'planet=mars'];
    const land = () => up.run(['worker', '--central-url', up.url, '--cpus', '1', ...attribute]);
    const job = await cluster.submit({
      tasks: [{ exec: untilGo(up) }, { exec: untilGo(up) }],
      require: { planet: 'mars' },
    });
    const lost = land();
    await expect.poll(async () => (await job.describe()).tasks.running, WAIT_OPTIONS).toBe(1);
    lost.kill('SIGKILL');
    await lost.finished;
    await expect.poll(async () => (await job.describe()).tasks.waiting, WAIT_OPTIONS).toBe(2);
    await expect
      .poll(async () => (await up.goshawk(['why', job.id])).stdout, WAIT_OPTIONS)
      .toContain('no worker has planet=mars');
    await writeFile(join(up.folder, 'go'), '');
    const again = land();
    expect((await job.wait({ timeoutMs: 60_000 })).state).toBe('completed');
    const { attemptList } = await job.describe();
    expect(new Set(attemptList.map(({ worker }) => worker))).toEqual(new Set(['rover']));
    again.kill('SIGINT');
    await again.finished;
  } finally {
    await up.stop();
  }
});

it('a user at the limit of waiting tasks is rejected, and another one is not', async () => {
  const quota = ['--user-waiting-tasks-max', '5'];
  const up = await TestCluster.start(['--workers', '1', '--schedulers', '1', ...quota]);
  try {
    const submit = (user: string, tasks: number, sleep = '1h') =>
      up.goshawk(['submit', '--user', user, '--tasks', `${tasks}`, '--sleep', sleep]);
    const hog = await submit('ada', 1);
    await using cluster = await connect(up.url);
    const running = cluster.job(hog.stdout.trim());
    await expect.poll(async () => (await running.describe()).tasks.running, WAIT_OPTIONS).toBe(1);

    expect(await submit('ada', 4)).toMatchObject({ exitCode: 0 });
    const refused = await submit('ada', 2);
    expect(refused).toMatchObject({ exitCode: 3, stdout: '' });
    expect(refused.stderr).toMatch(/ada has 4 tasks waiting here, and this job has 2; at most 5 tasks/);
    const large = await submit('ada', 6);
    expect(large.exitCode).toBe(2);
    expect(large.stderr).toContain('the job has 6 tasks; at most 5 tasks of one user may wait');

    const other = await submit('ben', 5, '1ms');
    expect(other).toMatchObject({ exitCode: 0 });
    for (const { id, user } of (await cluster.jobs({ states: ['waiting', 'running'] })).jobs)
      if (user === 'ada') await cluster.job(id).cancel();
    expect(await cluster.job(other.stdout.trim()).wait()).toMatchObject({ state: 'completed' });
    expect(await submit('ada', 5, '1ms')).toMatchObject({ exitCode: 0 });
  } finally {
    await up.stop();
  }
});

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { TestCluster } from '../test-cluster.fixture.js';

let cluster: TestCluster;
beforeAll(async () => {
  cluster = await TestCluster.start(['--workers', '2', '--schedulers', '1', '--resources', 'cpu=4']);
});
afterAll(() => cluster.stop());

const planned = async (...args: string[]) =>
  JSON.parse((await cluster.goshawk(['plan', '--json', ...args])).stdout);

/** Schedulers refuse nothing finally until central has waited for the members of before its start. */
const untilComplete = () =>
  expect.poll(async () => (await planned('--cpus', '5', '--', 'true')).refusal).not.toBeNull();

describe('goshawk plan', () => {
  it('prints class, workers and start of a job, and submits nothing', async () => {
    await expect.poll(async () => (await planned('--sleep', '1s')).freeSlots).toBe(8);
    const args = ['plan', '--tasks', '3', '--estimate', '2s', '--cpus', '3', '--', 'true'];
    const { exitCode, stdout } = await cluster.goshawk(args);
    expect(exitCode).toBe(0);
    expect(stdout).toMatch(/^true {2}3 tasks$/m);
    expect(stdout).toMatch(
      /class +short: its estimated task time is 2 s\n +a job whose tasks take 10 s or more on average is long/,
    );
    expect(stdout).toMatch(/workers +2 of 2 are large enough for cpu 3/);
    expect(stdout).toMatch(/start +immediately; nothing is queued ahead, and 8 of 8 CPUs are free/);
    const jobs = await cluster.goshawk(['jobs', '--json']);
    expect(JSON.parse(jobs.stdout)).toMatchObject({ total: 0 });
  });

  it('says when the job would end, and why that is unknown', async () => {
    const { stdout } = await cluster.goshawk(['plan', '--tasks', '16', '--sleep', '30s']);
    expect(stdout).toMatch(/end +\d\d:\d\d:\d\d \(.* to .*\), in about \S+ .*, if submitted now/);
    const { expectedEnd, expectedEndUnknown } = await planned('--tasks', '16', '--sleep', '30s');
    expect(expectedEndUnknown).toBeNull();
    // Two rounds on eight CPUs.
    const inMs = Date.parse(expectedEnd.at) - Date.parse(expectedEnd.computedAt);
    expect(inMs / 60_000).toBeCloseTo(1, 1);
    expect(Date.parse(expectedEnd.earliest)).toBeLessThanOrEqual(Date.parse(expectedEnd.at));
    expect(Date.parse(expectedEnd.latest)).toBeGreaterThanOrEqual(Date.parse(expectedEnd.at));
    const later = await planned('--begin', '+1m', '--sleep', '1s');
    expect(later.startSeconds).toBeCloseTo(60, -1);
    for (const [args, why, startSeconds] of [
      [['--', 'true'], /run time of its tasks is unknown; --estimate states it/, 0],
      [['--hold', '--sleep', '1s'], /goshawk release/, null],
      [['--cpus', '5', '--sleep', '1s'], /no worker can run it now/, null],
    ] as const)
      expect(await planned(...args)).toMatchObject({
        startSeconds,
        expectedEnd: null,
        expectedEndUnknown: expect.stringMatching(why),
      });
  });

  it('exits with 1 if no worker has room', async () => {
    await untilComplete();
    const { exitCode, stdout } = await cluster.goshawk(['plan', '--cpus', '5', '--', 'true']);
    expect(exitCode).toBe(1);
    expect(stdout).toMatch(/workers +0 of 2 are large enough for cpu 5/);
    expect(stdout).toMatch(/start +never, submit refuses it: no worker has cpu 5; the closest is /);
  });

  it('refuses a gang that exceeds the cluster in the words of submit', async () => {
    await untilComplete();
    const gang = ['--gang', '--tasks', '3', '--cpus', '4', '--', 'true'];
    const planned = await cluster.goshawk(['plan', ...gang]);
    const submitted = await cluster.goshawk(['submit', ...gang]);
    const refusal = submitted.stderr.trim().split('\n').at(-1)!.replace('goshawk: ', '');
    expect(refusal).toMatch(
      /^the 3 tasks of the gang start together, and the cluster has room for 2 of them; /,
    );
    expect(planned.stdout.replace(/\s+/g, ' ')).toContain(`start never, submit refuses it: ${refusal}`);
    expect(planned.exitCode).toBe(1);
  });

  it('names the tasks that it would wait behind', async () => {
    const submitted = await cluster.goshawk([
      'submit',
      '--tasks',
      '20',
      '--sleep',
      '600s',
      '--estimate',
      '600s',
      // A job without an estimate would borrow their CPUs.
      '--no-lend',
    ]);
    const id = submitted.stdout.trim();
    try {
      await expect
        .poll(async () => (await planned('--estimate', '300s', '--', 'true')).ahead.examples)
        .toEqual([expect.objectContaining({ id })]);
      const { startSeconds, ahead } = await planned('--estimate', '300s', '--', 'true');
      expect(ahead.workSeconds).toBe(600 * ahead.tasks);
      expect(startSeconds).toBeGreaterThan(500);
      const { stdout } = await cluster.goshawk(['plan', '--estimate', '300s', '--', 'true']);
      expect(stdout).toMatch(
        /start +in about \S+ min.* \(.+ to .+\); \d+ tasks of 1 job may go first, and \d of 8 CPUs/,
      );
    } finally {
      await cluster.goshawk(['cancel', id]);
    }
  });

  it('says that a short job starts at once on borrowed CPUs, and it does', async () => {
    const submit = async (...args: string[]) => (await cluster.goshawk(['submit', ...args])).stdout.trim();
    const long = await submit('--estimate', '600s', '--tasks', '8', '--sleep', '600s');
    try {
      const short = ['--estimate', '1s', '--sleep', '10ms'];
      await expect
        .poll(() => planned(...short))
        .toMatchObject({ freeSlots: 0, borrows: true, startSeconds: 0 });
      const { stdout } = await cluster.goshawk(['plan', ...short]);
      expect(stdout).toMatch(
        /start +immediately: its first tasks borrow CPUs of longer tasks, which pause; 0 of 8/,
      );
      expect(await planned('--estimate', '300s', '--', 'true')).toMatchObject({ borrows: false });
      expect(await cluster.goshawk(['submit', '--wait', ...short])).toMatchObject({ exitCode: 0 });
    } finally {
      await cluster.goshawk(['cancel', long]);
    }
  });

  it('ignores tasks that cannot start', async () => {
    const submit = async (...args: string[]) => (await cluster.goshawk(['submit', ...args])).stdout.trim();
    const running = await submit('--estimate', '600s', '--sleep', '600s');
    const held = await submit('--after', running, '--tasks', '7', '--estimate', '1s', '--sleep', '1s');
    const elsewhere = await submit(
      '--require',
      'zone=eu',
      '--tasks',
      '5',
      '--estimate',
      '1s',
      '--sleep',
      '1s',
    );
    try {
      await expect.poll(async () => (await cluster.goshawk(['why', elsewhere])).stdout).toMatch(/zone=eu/);
      expect(await planned('--estimate', '300s', '--', 'true')).toMatchObject({
        freeSlots: 7,
        startSeconds: 0,
        ahead: { jobs: 0, tasks: 0, examples: [] },
      });
    } finally {
      await cluster.goshawk(['cancel', held, elsewhere, running]);
    }
  });

  it('exits with 2 for an invalid job', async () => {
    const { exitCode, stderr } = await cluster.goshawk(['plan', 'nowhere.json', '--quiet']);
    expect(stderr).toMatch(/^goshawk: .*nowhere\.json/);
    expect(exitCode).toBe(2);
  });
});

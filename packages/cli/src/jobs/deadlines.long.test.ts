import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { connect } from '@goshawk/client';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { TestCluster } from '../test-cluster.fixture.js';

let up: TestCluster;

beforeAll(async () => {
  const policy = ['--policy', '3sigma-sched', '--set', 'cycleMs=100,afterDeadline=abandon'];
  up = await TestCluster.start([
    ...policy,
    '--workers',
    '4',
    '--schedulers',
    '1',
    '--attribute',
    'rack=r1,r2',
  ]);
});

afterAll(async () => {
  await up.stop();
});

it('a job that could never start, or is already late, is rejected in one line', async () => {
  const task = ['--sleep', '1ms'];
  const file = join(up.folder, 'job.json');
  const tasks = { count: 5, run: { sleep: 1 } };
  await writeFile(file, JSON.stringify({ tasks }));
  const refused = await Promise.all(
    [
      ['--tasks', '5', ...task],
      [file],
      ['--prefer', 'rack=r7', ...task],
      ['--deadline', '0s', ...task],
      ['--deadline=-5m', ...task],
    ].map((args) => up.goshawk(['submit', ...args])),
  );
  const lines = [
    /the 5 tasks of the gang start together, and the cluster has room for 4 of them; submit fewer tasks, or add workers/,
    /the 5 tasks of the gang start together/,
    /no worker has its preferred attributes: rack=r7/,
    /has already passed/,
    /is not a duration/,
  ];
  for (const [place, { exitCode, stdout, stderr }] of refused.entries()) {
    expect({ exitCode, stdout }, stderr).toEqual({ exitCode: 2, stdout: '' });
    // A cluster that has just started first waits for further workers, and says so.
    const errors = stderr
      .trim()
      .split('\n')
      .filter((each) => !each.startsWith('waiting for the cluster'));
    expect(errors, stderr).toEqual([expect.stringMatching(lines[place]!)]);
  }
  await using cluster = await connect(up.url);
  await expect(cluster.submit({ tasks })).rejects.toMatchObject({ code: 'impossible-demand' });
  await expect(cluster.submit({ tasks: [{ sleep: 1 }], prefer: { rack: 'r7' } })).rejects.toMatchObject({
    code: 'impossible-demand',
  });
  expect((await cluster.jobs({ all: true })).jobs).toEqual([]);
});

it('a deadline may be met, missed, or passed before the start', async () => {
  const met = await up.goshawk(['submit', '--wait', '--deadline', '1m', '--sleep', '1ms']);
  expect(met.exitCode, met.stderr).toBe(0);
  const late = await up.goshawk([
    'submit',
    ...['--wait', '--estimate', '1ms', '--deadline', '500ms', '--sleep', '1s', '--prefer', 'rack=r1'],
  ]);
  expect(late.exitCode, late.stderr).toBe(4);
  expect(late.stderr).toMatch(/completed: 1 task, after 1\.\d+ s, \d+ ms after its deadline/);
  const wide = await up.goshawk([
    'submit',
    '--tasks',
    '4',
    '--value',
    '1000',
    '--deadline',
    '1h',
    '--sleep',
    '1h',
  ]);
  await using cluster = await connect(up.url);
  await expect.poll(async () => (await cluster.job(wide.stdout.trim()).describe()).state).toBe('running');
  const abandoned = await up.goshawk(['submit', '--wait', '--deadline', '300ms', '--sleep', '1ms']);
  expect(abandoned.exitCode, abandoned.stderr).toBe(1);
  expect(abandoned.stderr).toMatch(/the deadline of the job passed before it could start/);
  const { jobs } = JSON.parse((await up.goshawk(['jobs', '--all', '--json'])).stdout);
  const ends = jobs.map(({ state, deadlineMet }: Record<string, unknown>) => [state, deadlineMet]);
  expect(ends).toEqual([
    ['running', null],
    ['failed', false],
    ['completed', false],
    ['completed', true],
  ]);
  expect((await up.goshawk(['jobs', '--all'])).stdout).toMatch(/deadline\n.* in \d+ min/);
  const behind = await up.goshawk(['submit', '--estimate', '1s', '--deadline', '1h', '--sleep', '1ms']);
  await expect
    .poll(async () => (await up.goshawk(['why', behind.stdout.trim()])).stdout, { timeout: 30_000 })
    .toMatch(/It (is planned|waits) .* meets its deadline with a probability of \d+%/);
  await cluster.job(behind.stdout.trim()).cancel();
  await cluster.job(wide.stdout.trim()).cancel();
});

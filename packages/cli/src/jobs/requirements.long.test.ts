import { connect } from '@goshawk/client';
import { describe, expect, it } from 'vitest';
import { TestCluster } from '../test-cluster.fixture.js';

const ATTRIBUTES = ['--attribute', 'zone=eu,us', '--attribute', 'model=a100,a100,h100,h100'];
const SIZE = ['--workers', '4', '--cpus', '1', '--schedulers', '2', ...ATTRIBUTES];

describe.each([
  ['goshawk', []],
  // The short partition is off: two workers per zone are too few to split.
  ['hawk', ['--short-partition', '0']],
  ['drf', []],
])('under %s', (policy, options) => {
  it('tasks run on workers with the required attributes, and wait until one has them', async () => {
    const up = await TestCluster.start(['--policy', policy, ...options, ...SIZE]);
    try {
      await using cluster = await connect(up.url);
      const { workers } = await cluster.describe();
      const named = (...wanted: string[]) =>
        workers
          .filter(({ attributes }) => wanted.includes(`${attributes.zone} ${attributes.model}`))
          .map(({ name }) => name);
      const run = async (of: string[], tasks = 6): Promise<string[]> => {
        const { stdout, stderr, exitCode } = await up.goshawk([
          'submit',
          '--json',
          '--wait',
          '--tasks',
          `${tasks}`,
          ...of,
          '--sleep',
          '20ms',
        ]);
        expect(exitCode, stderr).toBe(0);
        expect(JSON.parse(stdout)).not.toHaveProperty('warning');
        const { attemptList } = await cluster.job(JSON.parse(stdout).job).describe();
        expect(attemptList).toHaveLength(tasks);
        return [...new Set(attemptList.map(({ worker }) => worker))];
      };

      // The jobs require one zone and one model, then two models; hawk's central places the long tasks.
      expect(await run(['--require', 'zone=eu', '--require', 'model=a100'])).toEqual(named('eu a100'));
      for (const worker of await run(['--require', 'zone=us', '--require', 'model=a100,h100'], 12))
        expect(named('us a100', 'us h100')).toContain(worker);
      for (const worker of await run(['--require', 'zone=eu', '--estimate', '1h']))
        expect(named('eu a100', 'eu h100')).toContain(worker);

      const shown = await up.goshawk(['workers']);
      expect(shown.stdout).toContain('zone=us model=h100');
      const planned = await up.goshawk(['plan', '--require', 'zone=eu', '--sleep', '1s']);
      expect(planned.stdout).toContain('2 of 4 have zone=eu');

      const hog = await cluster.submit({
        tasks: { count: 2, run: { sleep: '1h' } },
        estimate: '1h',
        lend: false,
        require: { zone: 'eu' },
      });
      await expect.poll(async () => (await hog.describe()).tasks.running, { timeout: 60_000 }).toBe(2);
      const behind = await cluster.submit({ tasks: [{ sleep: 1 }], estimate: 1, require: { zone: 'eu' } });
      expect(behind.warning).toBeUndefined();
      await expect
        .poll(async () => (await up.goshawk(['why', behind.id])).stdout, { timeout: 60_000 })
        .toContain('2 workers have zone=eu, both are busy');
      await hog.cancel();
      expect((await behind.wait()).state).toBe('completed');

      const asked = await up.goshawk(['submit', '--sleep', '1ms', '--require', 'planet=mars']);
      expect(asked).toMatchObject({ exitCode: 0 });
      expect(asked.stderr).toContain(
        'no worker has planet=mars, and none declares its planet: the job waits until one does',
      );
      const lost = cluster.job(asked.stdout.trim());
      await expect
        .poll(async () => (await up.goshawk(['why', lost.id])).stdout, { timeout: 60_000 })
        .toMatch(/\(required\); no worker has planet=mars/);
      expect((await up.goshawk(['plan', '--sleep', '1s', '--require', 'planet=mars'])).exitCode).toBe(1);
      const worker = up.run([
        'worker',
        '--central-url',
        up.url,
        '--name',
        'rover',
        '--attribute',
        'planet=mars',
      ]);
      expect((await lost.wait()).state).toBe('completed');
      // The scheduler learns the name of a new worker with its next list, which may arrive after such a short
      // task.
      await expect
        .poll(async () => (await lost.describe()).attemptList.map(({ worker }) => worker))
        .toEqual(['rover']);
      worker.kill('SIGINT');
      await worker.finished;

      const wrong = await up.goshawk(['submit', '--sleep', '1ms', '--require', 'zone']);
      expect(wrong).toMatchObject({ exitCode: 2, stdout: '' });
      expect(wrong.stderr).toContain('--require: "zone" is not NAME=VALUE');
    } finally {
      await up.stop();
    }
  });
});

it('a long job learns at once that only workers of the short partition match, and waits', async () => {
  const partition = ['--policy', 'hawk', '--short-partition', '0.25', '--attribute', 'rack=a,b,c,d'];
  const up = await TestCluster.start([...partition, '--workers', '4', '--cpus', '1', '--cutoff', '60']);
  try {
    await using cluster = await connect(up.url);
    const shorts = async () =>
      (await cluster.describe()).workers.filter((each) => each.partition === 'short');
    await expect.poll(async () => (await shorts()).length, { timeout: 60_000 }).toBe(1);
    const [short] = await shorts();
    const rack = `rack=${short!.attributes.rack}`;
    const only = `only workers of the short partition have ${rack} (${short!.name}), but the job uses the general partition`;
    const asked = await up.goshawk(['submit', '--sleep', '1ms', '--estimate', '1h', '--require', rack]);
    expect(asked.exitCode, asked.stderr).toBe(0);
    expect(asked.stderr).toContain(only);
    const job = cluster.job(asked.stdout.trim());
    expect((await up.goshawk(['why', job.id])).stdout).toContain(only);
    const why = JSON.parse((await up.goshawk(['why', job.id, '--json'])).stdout);
    expect(why).toMatchObject({ cutoffSeconds: 60, cutoffFrom: 'said' });
    expect(why.waiting[0].missing).toContain(only);
    const listed = await up.goshawk(['jobs', '--json']);
    expect(JSON.parse(listed.stdout)).toMatchObject({ cutoffSeconds: 60, cutoffFrom: 'said' });
    // The new worker joins the general partition and has the required attribute.
    const worker = up.run(['worker', '--central-url', up.url, '--name', 'more', '--attribute', rack]);
    expect((await job.wait()).state).toBe('completed');
    expect((await job.describe()).attemptList).toMatchObject([{ worker: 'more' }]);
    worker.kill('SIGINT');
    await worker.finished;
  } finally {
    await up.stop();
  }
});

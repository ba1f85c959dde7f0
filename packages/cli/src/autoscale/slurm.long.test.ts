import { connect } from '@goshawk/client';
import { describe, expect, it } from 'vitest';
import { TestCluster } from '../test-cluster.fixture.js';
import { isSlurmThere, SlurmCluster } from './slurm.fixture.js';

describe.runIf(isSlurmThere())('on Slurm', () => {
  it('allocations scale with the load, and each task runs once', async () => {
    const slurm = await SlurmCluster.start(8);
    const up = await TestCluster.start(['--workers', '1', '--cpus', '1']);
    try {
      await using cluster = await connect(up.url);
      const scaling = up.run(
        ['autoscale', 'slurm', '--json', '--max', '3', '--cpus', '2', '--cooldown', '4s', '--every', '500ms'],
        { environment: slurm.environment },
      );
      const job = await cluster.submit({ tasks: { count: 40, run: { sleep: 1_500 } }, estimate: 2_000 });
      // This task outlives the others, so its allocation must not be stopped under it.
      const long = await cluster.submit({ tasks: { count: 1, run: { sleep: 15_000 } }, estimate: 15_000 });
      for (const { state } of [await job.wait(), await long.wait()]) expect(state).toBe('completed');
      const attempts = [...(await job.describe()).attemptList, ...(await long.describe()).attemptList];
      expect(attempts).toHaveLength(41);
      expect(attempts.some(({ worker }) => worker.startsWith('goshawk-pool-'))).toBe(true);
      await expect
        .poll(() => slurm.ask('squeue', '--noheader'), { timeout: 120_000, interval: 500 })
        .toBe('');
      await expect
        .poll(async () =>
          (await cluster.describe()).workers.map(({ name }) => name.startsWith('goshawk-pool-')),
        )
        .toEqual([false]);
      const refused = up.run(
        ['autoscale', 'slurm', '--pool', 'other', '--min', '1', '--max', '1', '--', '--partition=none'],
        {
          environment: slurm.environment,
        },
      );
      await refused.says(/sbatch failed: .*invalid partition/);
      refused.kill('SIGINT');
      expect((await refused.finished).exitCode).toBe(0);
      scaling.kill('SIGINT');
      const { exitCode, stdout } = await scaling.finished;
      expect(exitCode).toBe(0);
      const changes = stdout
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line));
      const counted = (action: string) =>
        changes.reduce((sum, change) => sum + (change.action === action ? change.workers.length : 0), 0);
      expect(changes[0]).toMatchObject({ action: 'start', from: 0 });
      expect(Math.max(...changes.map(({ to }) => to))).toBeLessThanOrEqual(3);
      expect(counted('start')).toBe(counted('end'));
    } finally {
      await up.stop();
      await slurm.stop();
    }
  });
});

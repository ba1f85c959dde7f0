import { TestDaemons } from '@goshawk/cli/testing';
import { afterEach, beforeEach, expect, test } from 'vitest';

const daemons = new TestDaemons('flapping', { beforeEach, afterEach });

const REPETITIONS = 4;

test.each(['killed and restarted', 'stopped and continued'] as const)(
  'a node that is %s again and again loses no task, and other nodes run the jobs meanwhile',
  async (how) => {
    await daemons.startCentral();
    await daemons.startScheduler('s');
    await daemons.startWorker('steady', ['--cpus', '2']);
    const start = () => daemons.startWorker('flapping', ['--cpus', '2']);
    let flapping = await start();
    await using client = await daemons.connect();
    const workers = async () => (await client.describe()).workers;
    const jobs = [];
    for (let flap = 0; flap < REPETITIONS; flap++) {
      const job = await client.submit({
        retries: 2,
        tasks: {
          count: 12,
          run: { exec: ['sh', '-c', `sleep 0.2; echo ${flap}/$GOSHAWK_TASK >> lines`], cwd: daemons.folder },
        },
      });
      jobs.push(job);
      await expect.poll(async () => (await job.describe()).tasks.running).toBeGreaterThan(0);
      if (how === 'killed and restarted') {
        await flapping.kill();
        flapping = await start();
      } else {
        flapping.signal('SIGSTOP');
        await expect.poll(async () => (await client.counters()).central?.workersLost).toBeGreaterThan(flap);
        flapping.signal('SIGCONT');
      }
      await expect
        .poll(async () => (await workers()).filter(({ state }) => state === 'active'))
        .toHaveLength(2);
      expect((await job.wait({ timeoutMs: 120_000 })).state).toBe('completed');
    }
    const tasks = jobs.flatMap((_, flap) => Array.from({ length: 12 }, (_, task) => `${flap}/${task}`));
    expect([...new Set(daemons.linesOf('lines'))].sort()).toEqual(tasks.sort());
    const after = await client.submit({ tasks: { count: 8, run: { sleep: 300 } } });
    expect((await after.wait()).state).toBe('completed');
  },
);

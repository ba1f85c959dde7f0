import { connect } from '@goshawk/client';
import type { Cluster } from './cluster.js';

const JOBS_AT_ONCE = 64;

/**
 * Jobs a second through one scheduler: so many of them are on their way at any time, each of four tasks that do
 * nothing, from submission to the end as the client hears it.
 */
export async function throughput(cluster: Cluster, withJournal: boolean, jobs: number): Promise<number> {
  const scheduler = await cluster.startScheduler(withJournal ? 'written' : 'remembered', withJournal);
  try {
    await using client = await connect(cluster.url);
    const run = async (count: number): Promise<number> => {
      let left = count;
      const began = performance.now();
      const lane = async (): Promise<void> => {
        while (left-- > 0) {
          const job = await client.submit({ name: 'load', tasks: { count: 4, run: { sleep: 0 } } });
          await job.wait();
        }
      };
      await Promise.all(Array.from({ length: JOBS_AT_ONCE }, lane));
      return (count * 1_000) / (performance.now() - began);
    };
    // The first ones find cold code.
    await run(jobs / 4);
    return await run(jobs);
  } finally {
    await scheduler.kill();
    // Nobody else must be sent its jobs.
    for (;;) {
      await using client = await connect(cluster.url);
      if ((await client.describe()).schedulers.length === 0) break;
      await new Promise((resolve) => setTimeout(resolve, 200));
    }
  }
}

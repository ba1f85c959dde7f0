import { connect } from '@goshawk/client';
import { runJobs, until } from '../daemons.js';
import type { Cluster } from './cluster.js';

const JOBS_AT_ONCE = 64;
const TASKS_A_JOB = 4;

/**
 * Jobs a second through one scheduler: so many of them are on their way at any time, each of four tasks that do
 * nothing, from submission to the end as the client hears it.
 */
export async function throughput(cluster: Cluster, withJournal: boolean, jobs: number): Promise<number> {
  const scheduler = await cluster.startScheduler(withJournal ? 'written' : 'remembered', withJournal);
  try {
    await using client = await connect(cluster.url);
    // The first ones find cold code.
    await runJobs(client, jobs / 4, TASKS_A_JOB, JOBS_AT_ONCE);
    const began = performance.now();
    await runJobs(client, jobs, TASKS_A_JOB, JOBS_AT_ONCE);
    return (jobs * 1_000) / (performance.now() - began);
  } finally {
    await scheduler.kill();
    // Nobody else must be sent its jobs.
    await until(async () => {
      await using client = await connect(cluster.url);
      return (await client.describe()).schedulers.length === 0;
    }, 200);
  }
}

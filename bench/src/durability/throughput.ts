import { connect } from '@goshawk/client';
import { type Daemons, runJobs, until } from '../daemons.js';

const JOBS_AT_ONCE = 64;
const TASKS_A_JOB = 4;

/**
 * Jobs a second through one scheduler: so many of them are on their way at any time, each of four tasks that do
 * nothing, from submission to the end as the client hears it.
 */
export async function throughput(daemons: Daemons, withJournal: boolean, jobs: number): Promise<number> {
  const inMemory = ['scheduler', '--name', 'remembered', '--central-url', daemons.url];
  const scheduler = await (withJournal
    ? daemons.startScheduler('written')
    : daemons.start('remembered', inMemory));
  try {
    await using client = await connect(daemons.url);
    // The first ones find cold code.
    await runJobs(client, jobs / 4, TASKS_A_JOB, JOBS_AT_ONCE);
    const began = performance.now();
    await runJobs(client, jobs, TASKS_A_JOB, JOBS_AT_ONCE);
    return (jobs * 1_000) / (performance.now() - began);
  } finally {
    await scheduler.kill();
    // Nobody else must be sent its jobs.
    await until(async () => {
      await using client = await connect(daemons.url);
      return (await client.describe()).schedulers.length === 0;
    }, 200);
  }
}

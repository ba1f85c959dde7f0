import { type Cluster, connect } from '@goshawk/client';
import { type Daemons, until } from '../daemons.js';

interface KillReport {
  readonly kills: number;
  /** Jobs that a client knows to be accepted. */
  readonly accepted: number;
  /** Accepted jobs that are unknown afterwards. */
  readonly lost: readonly string[];
  readonly completed: number;
  /** Jobs that got another id when they were submitted again with their key after the restart. */
  readonly doubled: readonly string[];
}

const PATIENCE = { requestTimeoutMs: 60_000, connectTimeoutMs: 30_000 };
/** Jobs in flight when the scheduler dies; the first acceptance triggers the kill. */
const JOBS_IN_FLIGHT = 4;

/**
 * Repeatedly kills a scheduler with SIGKILL as soon as a client has received the acceptance of a job, and looks up the
 * jobs each time and at the end.
 */
export async function killAfterAnswer(
  daemons: Daemons,
  times: number,
  onKill: (done: number) => void = () => {},
): Promise<KillReport> {
  const accepted: string[] = [];
  const lost: string[] = [];
  const doubled: string[] = [];
  for (let time = 0; time < times; time++) {
    const scheduler = await daemons.startScheduler('durable');
    await using client = await connect(daemons.url, PATIENCE);
    await listed(client, scheduler.endpoint);
    for (const id of accepted.slice(-JOBS_IN_FLIGHT)) if (!(await isThere(client, id))) lost.push(id);
    const giveUp = new AbortController();
    const submit = async (each: number) => {
      const submission = {
        name: 'kill',
        key: `kill-${time}-${each}`,
        tasks: { count: 2, run: { sleep: 5 } },
      };
      const { id } = await client.submit(submission, { signal: giveUp.signal });
      return { id, submission };
    };
    const submissions = Array.from({ length: JOBS_IN_FLIGHT }, (_, each) => submit(each));
    const first = await Promise.any(submissions);
    await scheduler.kill();
    giveUp.abort();
    // Jobs accepted before their clients gave up count as well.
    const settled = await Promise.allSettled(submissions);
    const answered = settled.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
    accepted.push(...answered.map(({ id }) => id));
    if (time % 10 === 0) {
      const again = await daemons.startScheduler('durable');
      await listed(client, again.endpoint);
      const { id } = await client.submit(first.submission);
      if (id !== first.id) doubled.push(id);
      await again.kill();
    }
    onKill(time + 1);
  }
  const scheduler = await daemons.startScheduler('durable');
  await using client = await connect(daemons.url, PATIENCE);
  await listed(client, scheduler.endpoint);
  let completed = 0;
  for (const id of accepted) {
    if (lost.includes(id)) continue;
    if (!(await isThere(client, id))) lost.push(id);
    else if ((await client.job(id).wait()).state === 'completed') completed++;
  }
  await scheduler.kill();
  return { kills: times, accepted: accepted.length, lost, completed, doubled };
}

/**
 * Returns when the scheduler at this endpoint has registered with central. Before that, its jobs seem to have no owner.
 */
async function listed(client: Cluster, endpoint: string): Promise<void> {
  await until(async () => {
    const { schedulers } = await client.describe();
    return schedulers.some((scheduler) => scheduler.endpoint === endpoint);
  }, 20);
}

async function isThere(client: Cluster, id: string): Promise<boolean> {
  try {
    await client.job(id).describe();
    return true;
  } catch (error) {
    if ((error as { code?: string }).code === 'unknown-job') return false;
    throw error;
  }
}

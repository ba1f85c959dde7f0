import { execFileSync, spawn } from 'node:child_process';
import { openSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { SlurmCluster } from '@goshawk/cli/testing';
import { ended, SLOTS, WORKERS } from './processes.mjs';

/**
 * Runs Slurm on this machine with eight processors and no pauses between scheduling rounds; there is still only one
 * round per second. A job is an array, as is usual for many small tasks. Its tasks report their ends themselves,
 * because `sbatch --wait` polls only every few seconds.
 */
export async function start(folder) {
  const cluster = await SlurmCluster.start(WORKERS * SLOTS, {
    SchedulerParameters: 'sched_min_interval=0,batch_sched_delay=1,default_queue_depth=10000',
    MaxJobCount: 100_000,
    MaxArraySize: 10_001,
  });
  const ends = join(folder, 'ends');
  execFileSync('mkfifo', [ends]);
  // Opened for reading and writing, so that it does not end while there is no writer.
  const reader = spawn('cat', { stdio: [openSync(ends, 'r+'), 'pipe', 'inherit'] });
  const waiting = new Map();
  createInterface({ input: reader.stdout }).on('line', (job) => {
    const left = waiting.get(job);
    if (--left.tasks === 0) left.resolve();
  });
  let jobs = 0;
  return {
    run: async (tasks, { sleepMs, exec }) => {
      const what = exec ?? (sleepMs === undefined ? ':' : `sleep ${sleepMs / 1_000}`);
      const job = String(++jobs);
      const over = new Promise((resolve) => waiting.set(job, { tasks, resolve }));
      await cluster.ask(
        'sbatch',
        ...['--quiet', '--output', '/dev/null', '--chdir', '/', '--array', `1-${tasks}`],
        ...['--wrap', `${what}; echo ${job} >${ends}`],
      );
      await over;
      waiting.delete(job);
    },
    stop: async () => {
      await ended(reader);
      await cluster.stop();
    },
  };
}

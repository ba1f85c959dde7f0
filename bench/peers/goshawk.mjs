import { connect } from '@goshawk/client';
import { inPostgres } from '@goshawk/journal';
import { PostgresServer } from '@goshawk/journal/testing';
import { startUp } from '../dist/up.js';
import { SLOTS, WORKERS } from './processes.mjs';

/** Goshawk estimates run times by job name, as other systems have named task types. */
function nameOf({ sleepMs, exec, module }) {
  if (exec !== undefined) return 'program';
  if (module !== undefined) return 'call';
  return sleepMs === undefined ? 'nothing' : 'sleep';
}

function taskOf({ sleepMs = 0, exec, module }) {
  if (exec !== undefined) return { exec: [exec] };
  return module === undefined ? { sleep: sleepMs } : { module };
}

/** Starts Goshawk as `goshawk up` does: jobs are on disk before they are accepted, and so are their results. */
export async function start(folder, environment = {}) {
  const shape = ['--workers', WORKERS, '--cpus', SLOTS, '--schedulers', 1].map(String);
  const up = await startUp(folder, shape, environment);
  const cluster = await connect(up.url);
  return {
    run: async (tasks, work) => {
      const job = await cluster.submit({ name: nameOf(work), tasks: { count: tasks, run: taskOf(work) } });
      const { state } = await job.wait();
      if (state !== 'completed') throw new Error(`job ${job.id} has ${state}`);
    },
    stop: async () => {
      await cluster.close();
      await up[Symbol.asyncDispose]();
    },
  };
}

/** Starts Goshawk with its journal in a dedicated PostgreSQL on the same disk. */
export async function startInPostgres(folder) {
  const server = await PostgresServer.start();
  const journal = await server.createDatabase('jobs');
  await (await inPostgres()).initStore(journal);
  const { run, stop } = await start(folder, { GOSHAWK_JOURNAL: journal });
  return {
    run,
    stop: async () => {
      await stop();
      await server.remove();
    },
  };
}

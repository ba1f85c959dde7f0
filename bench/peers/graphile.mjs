import { PostgresServer } from '@goshawk/journal/testing';
import { makeWorkerUtils } from 'graphile-worker';
import pg from 'pg';
import { Countdown, startWorkers } from './processes.mjs';

/** Runs graphile-worker on a dedicated PostgreSQL with default settings: each commit is on disk. */
export async function start() {
  const server = await PostgresServer.start();
  const connectionString = await server.createDatabase('tasks');
  const pgPool = new pg.Pool({ connectionString });
  // At the end the server stops before its last connection closes.
  pgPool.on('error', () => {});
  const utils = await makeWorkerUtils({ pgPool });
  await utils.migrate();
  const countdown = new Countdown();
  // Workers report ended tasks to this process, because graphile-worker has no such event for other processes.
  const stopWorkers = await startWorkers('graphile-worker.mjs', { connectionString }, () =>
    countdown.ended(),
  );
  return {
    run: async (tasks, work) => {
      const over = countdown.of(tasks);
      await utils.addJobs(Array.from({ length: tasks }, () => ({ identifier: 'task', payload: work })));
      await over;
    },
    stop: async () => {
      await stopWorkers();
      await utils.release();
      await pgPool.end();
      await server.stop();
    },
  };
}

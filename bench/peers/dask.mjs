import { fileURLToPath } from 'node:url';
import { startPlayer } from './play.mjs';
import { ended, freePort, listening, SLOTS, startServer, WORKERS } from './processes.mjs';

/**
 * Runs Dask distributed with its default settings, but without dashboard and nannies, which only add cost: a scheduler,
 * workers whose slots are threads, and an asynchronous client. A job is a `map` followed by a `wait`; like Goshawk
 * here, it fetches no results.
 */
export async function start(folder) {
  const port = await freePort();
  const scheduler = `tcp://127.0.0.1:${port}`;
  const env = {
    PYTHONPATH: fileURLToPath(new URL('.', import.meta.url)),
    PYTHONDONTWRITEBYTECODE: '1',
    DASK_LOGGING__DISTRIBUTED: 'error',
    DASK_TEMPORARY_DIRECTORY: folder,
  };
  const started = (program, args) =>
    startServer(
      '/usr/bin/python3',
      ['-m', `distributed.cli.dask_${program}`, ...args, '--no-dashboard'],
      env,
    );
  const servers = [started('scheduler', ['--host', '127.0.0.1', '--port', String(port)])];
  await listening(port);
  for (let worker = 0; worker < WORKERS; worker++)
    servers.unshift(
      started('worker', [scheduler, '--nthreads', String(SLOTS), '--no-nanny', '--host', '127.0.0.1']),
    );
  const client = await startPlayer(
    '/usr/bin/python3',
    [`${env.PYTHONPATH}dask_client.py`, scheduler, String(WORKERS)],
    env,
  );
  return {
    play: client.play,
    stop: async () => {
      await client.stop();
      for (const server of servers) await ended(server);
    },
  };
}

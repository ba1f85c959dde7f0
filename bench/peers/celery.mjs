import { fileURLToPath } from 'node:url';
import { startPlayer } from './play.mjs';
import { ended, freePort, listening, SLOTS, startServer, WORKERS } from './processes.mjs';

/**
 * Runs Celery with a dedicated Redis and without durability, its fastest common configuration. Slots are processes
 * (prefork, the default). Gossip and heartbeats between workers are off. A job is a `group` whose tasks publish their
 * ends on one Redis channel, because Celery's results cost one key and one subscription per task.
 */
export async function start(folder) {
  const port = await freePort();
  const redis = startServer('redis-server', [
    ...['--port', String(port), '--bind', '127.0.0.1', '--dir', folder],
    ...['--save', '', '--appendonly', 'no'],
  ]);
  await listening(port);
  const env = {
    PYTHONPATH: fileURLToPath(new URL('.', import.meta.url)),
    PYTHONDONTWRITEBYTECODE: '1',
    PEERS_REDIS: `redis://127.0.0.1:${port}/0`,
    PEERS_WORKERS: String(WORKERS),
  };
  const workers = Array.from({ length: WORKERS }, (_, worker) =>
    startServer(
      '/usr/bin/python3',
      [
        ...['-m', 'celery', '-A', 'celery_tasks', 'worker', '-n', `worker${worker}@localhost`, '-l', 'error'],
        ...['--concurrency', String(SLOTS), '--without-gossip', '--without-mingle', '--without-heartbeat'],
      ],
      env,
      true,
    ),
  );
  const client = await startPlayer('/usr/bin/python3', [`${env.PYTHONPATH}celery_tasks.py`], env);
  return {
    play: client.play,
    stop: async () => {
      await client.stop();
      await Promise.all(workers.map(ended));
      await ended(redis);
    },
  };
}

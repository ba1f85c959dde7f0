import { Queue, QueueEvents } from 'bullmq';
import { Countdown, ended, freePort, listening, startServer, startWorkers } from './processes.mjs';

const IN_MEMORY = ['--save', '', '--appendonly', 'no'];
const ON_DISK = ['--save', '', '--appendonly', 'yes', '--appendfsync', 'always'];

/**
 * Runs BullMQ with a dedicated Redis, which either writes everything to disk before it acknowledges it, or nothing at
 * all.
 */
export async function start(folder, { isDurable }) {
  const port = await freePort();
  const redis = startServer('redis-server', [
    ...['--port', String(port), '--bind', '127.0.0.1', '--dir', folder],
    ...(isDurable ? ON_DISK : IN_MEMORY),
  ]);
  await listening(port);
  const connection = { host: '127.0.0.1', port };
  const stopWorkers = await startWorkers('bullmq-worker.mjs', { connection });
  const queue = new Queue('tasks', {
    connection,
    defaultJobOptions: { removeOnComplete: 1_000 },
    // By default Redis keeps ten thousand unread events, fewer than arrive here at once.
    streams: { events: { maxLen: 1_000_000 } },
  });
  // Read from the first event on; by default, events before the first read are lost.
  const events = new QueueEvents('tasks', { connection, lastEventId: '0' });
  await events.waitUntilReady();
  const countdown = new Countdown();
  events.on('completed', () => countdown.ended());
  return {
    /** Runs one job with this many tasks, added by one command, `addBulk`. */
    run: async (tasks, work) => {
      const over = countdown.of(tasks);
      if (tasks === 1) await queue.add('task', work);
      else await queue.addBulk(Array.from({ length: tasks }, () => ({ name: 'task', data: work })));
      await over;
    },
    stop: async () => {
      await stopWorkers();
      await events.close();
      await queue.close();
      await ended(redis);
    },
  };
}

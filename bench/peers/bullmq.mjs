import { Queue, QueueEvents } from 'bullmq';
import { Countdown, ended, freePort, listening, startServer, startWorkers } from './processes.mjs';

const IN_MEMORY = ['--save', '', '--appendonly', 'no'];
const ON_DISK = ['--save', '', '--appendonly', 'yes', '--appendfsync', 'always'];

/** BullMQ with a Redis of its own: what is acknowledged is on disk, or nothing ever is. */
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
    // Of ends that nobody has read it keeps ten thousand by default, fewer than there are here at once.
    streams: { events: { maxLen: 1_000_000 } },
  });
  // From the first event on: by default those that come before it reads for the first time are lost.
  const events = new QueueEvents('tasks', { connection, lastEventId: '0' });
  await events.waitUntilReady();
  const countdown = new Countdown();
  events.on('completed', () => countdown.ended());
  return {
    /** One job of so many tasks: added in one command, as BullMQ has it. */
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

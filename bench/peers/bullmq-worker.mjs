import { Worker } from 'bullmq';
import { perform } from './work.mjs';

const { connection, slots } = JSON.parse(process.argv[2]);
const worker = new Worker('tasks', async ({ data }) => perform(data), { connection, concurrency: slots });
await worker.waitUntilReady();
process.send('ready');
process.on('SIGTERM', () => worker.close().then(() => process.exit(0)));

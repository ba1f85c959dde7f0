import { Worker } from 'bullmq';

const { connection, slots } = JSON.parse(process.argv[2]);
const worker = new Worker('tasks', async () => {}, { connection, concurrency: slots });
await worker.waitUntilReady();
process.send('ready');
process.on('SIGTERM', () => worker.close().then(() => process.exit(0)));

import { EventEmitter } from 'node:events';
import { Logger, run } from 'graphile-worker';
import { perform } from './work.mjs';

const { connectionString, slots } = JSON.parse(process.argv[2]);
const events = new EventEmitter();
events.on('job:complete', () => process.send('ended'));
const runner = await run({
  connectionString,
  concurrency: slots,
  events,
  noHandleSignals: true,
  logger: new Logger(() => () => {}),
  taskList: { task: async (work) => perform(work) },
});
process.send('ready');
process.on('SIGTERM', () => runner.stop().then(() => process.exit(0)));

import { hostname } from 'node:os';
import { defineCommand } from '../command.js';
import { keysFor } from '../keys.js';
import { CENTRAL_PORT, DAEMON_OPTIONS, keep } from './daemon-options.js';

export const schedulerCommand = defineCommand({
  name: 'scheduler',
  describe: 'run a scheduler: it takes jobs and owns them to their end',
  examples: [['goshawk scheduler --central-url tcp://127.0.0.1:7070', 'a scheduler of that cluster']],
  options: {
    bind: { type: 'text', default: 'tcp://127.0.0.1:0', describe: 'where to listen; port 0 for any' },
    centralUrl: { type: 'text', default: `tcp://127.0.0.1:${CENTRAL_PORT}`, describe: 'where central is' },
    name: {
      type: 'text',
      describe: 'what others call it; unique in the cluster (default: host and process)',
    },
    ...DAEMON_OPTIONS,
  },
  async run(context, options) {
    const { createLogger, startScheduler } = await import('@goshawk/runtime');
    const name = options.name ?? `scheduler-${hostname()}-${process.pid}`;
    const logger = createLogger(options.logLevel, { role: 'scheduler', name });
    const keys = await keysFor('scheduler', context);
    const daemon = await startScheduler({ ...options, keys, name, central: options.centralUrl, logger });
    return keep(daemon, context, options.withParent);
  },
});

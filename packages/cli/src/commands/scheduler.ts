import { hostname } from 'node:os';
import { join, resolve } from 'node:path';
import { LIMITS } from '@goshawk/core';
import { defineCommand } from '../command.js';
import { keysFor } from '../keys.js';
import { shadowNames } from '../predict/shadow-names.js';
import { VERSION } from '../version.js';
import {
  CENTRAL_PORT,
  DAEMON_OPTIONS,
  httpOptions,
  keep,
  RETENTION_OPTIONS,
  SHADOW_OPTION,
} from './daemon-options.js';

export const schedulerCommand = defineCommand({
  name: 'scheduler',
  describe: 'run a scheduler: it takes jobs and owns them to their end',
  examples: [
    [
      'goshawk scheduler --central-url tcp://127.0.0.1:7070 --name s0 --data-folder /var/lib/goshawk/s0',
      'a scheduler of that cluster, whose jobs survive it',
    ],
  ],
  options: {
    bind: { type: 'text', default: 'tcp://127.0.0.1:0', describe: 'where to listen; port 0 for any' },
    centralUrl: { type: 'text', default: `tcp://127.0.0.1:${CENTRAL_PORT}`, describe: 'where central is' },
    name: {
      type: 'text',
      describe: 'what others call it; unique in the cluster (default: host and process)',
    },
    dataFolder: {
      type: 'text',
      describe:
        'where its jobs are written down, and what it learns of run times, on a local disk (default: nowhere; they live as long as it does)',
    },
    shadow: SHADOW_OPTION,
    activeJobsMax: {
      type: 'count',
      min: 1,
      default: LIMITS.activeJobsMax,
      describe: 'jobs that have not ended; more are refused, to be tried again',
    },
    ...RETENTION_OPTIONS,
    ...DAEMON_OPTIONS,
  },
  async run(context, options) {
    const { createLogger, startScheduler } = await import('@goshawk/runtime');
    const name = options.name ?? `scheduler-${hostname()}-${process.pid}`;
    const logger = createLogger(options.logLevel, { role: 'scheduler', name });
    const keys = await keysFor('scheduler', context);
    const { dataFolder } = options;
    if (dataFolder === undefined) logger.warn({}, 'without --data-folder jobs end with this process');
    const daemon = await startScheduler({
      ...options,
      http: httpOptions(context, options),
      keys,
      name,
      central: options.centralUrl,
      journal:
        dataFolder === undefined
          ? undefined
          : { folder: join(resolve(context.cwd, dataFolder), 'journal'), version: VERSION },
      learntFile:
        dataFolder === undefined ? undefined : join(resolve(context.cwd, dataFolder), 'learnt.json'),
      shadow: shadowNames(options.shadow),
      endedJobsMax: options.keepJobs,
      endedJobsKeepMs: options.keep,
      logger,
    });
    return keep(daemon, context, options.withParent);
  },
});

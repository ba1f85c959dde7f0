import { hostname } from 'node:os';
import { join, resolve } from 'node:path';
import { LIMITS } from '@goshawk/core';
import type { Daemon, JournalPlace } from '@goshawk/runtime';
import { defineCommand } from '../command.js';
import type { Context } from '../context.js';
import { keysFor } from '../keys.js';
import { inFreeFolder, journalIn } from '../local/free-folder.js';
import type { OptionSpecs, Resolved } from '../options.js';
import { shadowNames } from '../shadow-names.js';
import { VERSION } from '../version.js';
import {
  CENTRAL_PORT,
  DAEMON_OPTIONS,
  httpOptions,
  JOURNAL_OPTION,
  keep,
  RETENTION_OPTIONS,
  SHADOW_OPTION,
} from './daemon-options.js';

const SCHEDULER_OPTIONS = {
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
  journal: JOURNAL_OPTION,
  dataFolders: {
    type: 'count',
    min: 1,
    max: 1_000,
    describe:
      'the data folder has room for so many schedulers, a folder for each: take one that nobody has, of one that ended first',
  },
  shadow: SHADOW_OPTION,
  estimator: {
    type: 'text',
    describe:
      "the file of an estimator of one's own, where central has one: at the same path here (which estimator it is, central says)",
  },
  activeJobsMax: {
    type: 'count',
    min: 1,
    default: LIMITS.activeJobsMax,
    describe: 'jobs that have not ended; more are refused, to be tried again',
  },
  ...RETENTION_OPTIONS,
  ...DAEMON_OPTIONS,
} as const satisfies OptionSpecs;

export const schedulerCommand = defineCommand({
  name: 'scheduler',
  describe: 'run a scheduler: it takes jobs and owns them to their end',
  examples: [
    [
      'goshawk scheduler --central-url tcp://127.0.0.1:7070 --name s0 --data-folder /var/lib/goshawk/s0',
      'a scheduler of that cluster, whose jobs survive it',
    ],
    [
      'GOSHAWK_JOURNAL=postgres://goshawk:…@db1,db2/goshawk goshawk scheduler --name s0',
      'whose jobs others go on with when its machine is lost',
    ],
  ],
  options: SCHEDULER_OPTIONS,
  async run(context, options) {
    const folder = options.dataFolder && resolve(context.cwd, options.dataFolder);
    if (folder === undefined || options.dataFolders === undefined) {
      return keep(await startIn(folder, context, options), context, options);
    }
    const daemon = await inFreeFolder(folder, options.dataFolders, ({ number, path }) =>
      startIn(path, context, { ...options, name: options.name ?? `s${number}` }),
    );
    return keep(daemon, context, options);
  },
});

function inFolder(folder: string | undefined): JournalPlace | undefined {
  return folder === undefined ? undefined : { folder: journalIn(folder), version: VERSION };
}

/** @param folder where it writes its jobs down, and what it learns; undefined: nowhere */
async function startIn(
  folder: string | undefined,
  context: Context,
  options: Resolved<typeof SCHEDULER_OPTIONS>,
): Promise<Daemon> {
  const { createLogger, startScheduler } = await import('@goshawk/runtime');
  const name = options.name ?? `scheduler-${hostname()}-${process.pid}`;
  const logger = createLogger(options.logLevel, { role: 'scheduler', name });
  const keys = await keysFor('scheduler', context);
  const { journal: url } = options;
  if (folder === undefined && url === undefined)
    logger.warn({}, 'without --data-folder or --journal jobs end with this process');
  return startScheduler({
    ...options,
    http: await httpOptions(context, options),
    keys,
    name,
    central: options.centralUrl,
    journal: url === undefined ? inFolder(folder) : { url, version: VERSION },
    learntFile: folder === undefined ? undefined : join(folder, 'learnt.json'),
    shadow: shadowNames(options.shadow),
    endedJobsMax: options.keepJobs,
    endedJobsKeepMs: options.keep,
    logger,
  });
}

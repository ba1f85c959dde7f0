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
  auditLogOf,
  DAEMON_OPTIONS,
  httpOptions,
  JOURNAL_OPTION,
  keep,
  MEMBER_OPTIONS,
  NOTIFY_OPTIONS,
  notifyOptions,
  QUOTA_OPTION,
  RETENTION_OPTIONS,
  SHADOW_OPTION,
} from './daemon-options.js';

const SCHEDULER_OPTIONS = {
  ...MEMBER_OPTIONS,
  name: {
    type: 'text',
    value: 'NAME',
    describe: 'name of the scheduler, unique in the cluster (default: from host and process)',
  },
  dataFolder: {
    type: 'text',
    value: 'FOLDER',
    describe:
      'folder on a local disk for the journal and learned run times (default: none; jobs are lost when the process exits)',
  },
  journal: JOURNAL_OPTION,
  dataFolders: {
    type: 'count',
    min: 1,
    max: 1_000,
    rare: true,
    describe:
      'number of schedulers that share --data-folder; each takes a free subfolder, existing ones first',
  },
  shadow: SHADOW_OPTION,
  estimator: {
    type: 'text',
    value: 'FILE',
    rare: true,
    describe: 'module of a custom estimator, at the same path as on central, which selects the estimator',
  },
  activeJobsMax: {
    type: 'count',
    min: 1,
    default: LIMITS.activeJobsMax,
    describe: 'maximum number of active jobs; clients retry further submissions later',
  },
  userWaitingTasksMax: QUOTA_OPTION,
  ...NOTIFY_OPTIONS,
  ...RETENTION_OPTIONS,
  ...DAEMON_OPTIONS,
} as const satisfies OptionSpecs;

export const schedulerCommand = defineCommand({
  name: 'scheduler',
  describe: 'run a scheduler, which accepts jobs and owns them until they end',
  examples: [
    [
      'goshawk scheduler --central-url tcp://127.0.0.1:7070 --name s0 --data-folder /var/lib/goshawk/s0',
      'a scheduler whose jobs survive a restart',
    ],
    [
      'GOSHAWK_JOURNAL=postgres://goshawk:…@db1,db2/goshawk goshawk scheduler --name s0',
      'a scheduler whose jobs survive the loss of its machine',
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
    logger.warn({}, 'without --data-folder or --journal, jobs are lost when this process exits');
  return startScheduler({
    ...options,
    http: await httpOptions(context, options),
    auditLog: auditLogOf(context, options),
    notify: await notifyOptions(context, options, keys !== undefined),
    keys,
    name,
    central: options.centralUrl,
    journal: url === undefined ? inFolder(folder) : { url, version: VERSION },
    estimatorStateFile: folder === undefined ? undefined : join(folder, 'learnt.json'),
    shadow: shadowNames(options.shadow),
    endedJobsMax: options.keepJobs,
    endedJobsKeepMs: options.keep,
    logger,
  });
}

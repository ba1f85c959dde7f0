import { hostname, tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { type Context, defineCommand, type Resolved, VERSION } from '@goshawk/command';
import { foldersBeyond, inFreeFolder, journalIn, keysFor, SCHEDULER_OPTIONS } from '@goshawk/command/cluster';
import type { Daemon, JournalLocation } from '@goshawk/runtime';
import { auditLogOf, httpOptions, keep, notifyOptions } from './daemon-options.js';

export const schedulerCommand = defineCommand({
  name: 'scheduler',
  describe: 'run a scheduler, which accepts jobs and owns them until they end',
  examples: [
    [
      'goshawk scheduler --central-url tcp://127.0.0.1:7070 --name s0 --data-folder /var/lib/goshawk/s0',
      'run a scheduler whose jobs survive a restart',
    ],
    [
      'GOSHAWK_JOURNAL=postgres://goshawk:…@db1,db2/goshawk goshawk scheduler --name s0',
      'run a scheduler whose jobs survive the loss of its machine',
    ],
  ],
  needsNoCluster: true,
  modules: 'run',
  options: SCHEDULER_OPTIONS,
  async run(context, options) {
    const folder = options.dataFolder && resolve(context.cwd, options.dataFolder);
    if (folder === undefined || options.dataFolders === undefined) {
      return keep(await startIn(folder, context, options), context, options);
    }
    const daemon = await inFreeFolder(folder, options.dataFolders, ({ number, path }) =>
      startIn(path, context, { ...options, name: options.name ?? `s${number}` }),
    );
    const folders = foldersBeyond(folder, options.dataFolders);
    if (folders.length > 0)
      daemon.logger.warn(
        { event: 'folders-unclaimed', folders },
        `the jobs in ${folders.join(', ')} are not listed and do not run: --data-folders ${options.dataFolders} leaves these folders out`,
      );
    return keep(daemon, context, options);
  },
});

function inFolder(folder: string | undefined): JournalLocation | undefined {
  return folder === undefined ? undefined : { folder: journalIn(folder), version: VERSION };
}

/** @param folder for the journal and learned run times; undefined: neither is kept */
async function startIn(
  folder: string | undefined,
  context: Context,
  options: Resolved<typeof SCHEDULER_OPTIONS>,
): Promise<Daemon> {
  const { createLogger, startScheduler } = await import('@goshawk/runtime');
  const keys = await keysFor('scheduler', context);
  const name = options.name ?? keys?.name ?? `scheduler-${hostname()}-${process.pid}`;
  const logger = createLogger(options.logLevel, { role: 'scheduler', name });
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
    journal: url === undefined ? inFolder(folder) : { url, copyFolder: folder ?? tmpdir(), version: VERSION },
    estimatorStateFile: folder === undefined ? undefined : join(folder, 'learnt.json'),
    shadow: options.shadow === undefined ? [] : await estimatorsNamed(options.shadow),
    endedJobsMax: options.keepJobs,
    endedJobsKeepMs: options.keep,
    logger,
  });
}

/**
 * Parses names of estimators. Policies are loaded only here, since a scheduler does not need them otherwise.
 */
async function estimatorsNamed(text: string): Promise<readonly string[]> {
  return (await import('@goshawk/command/policy')).shadowNames(text);
}

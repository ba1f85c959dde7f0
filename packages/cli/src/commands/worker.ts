import { existsSync } from 'node:fs';
import { hostname, totalmem } from 'node:os';
import { isAbsolute, join, resolve } from 'node:path';
import { InputError } from '@goshawk/core';
import { ATTRIBUTE_OPTION, parseAttributes } from '../attributes.js';
import { defineCommand } from '../command.js';
import { keysFor } from '../keys.js';
import { privateTemporaryFolder } from '../local/private-folder.js';
import { capacityOf, gpuNamesOf, RESOURCES_OPTION, SLOTS_OR_NONE_OPTION } from '../resources.js';
import {
  auditLogOf,
  DAEMON_OPTIONS,
  httpOptions,
  keep,
  MEMBER_OPTIONS,
  NETWORK_OPTION,
  RUN_AS_OPTION,
} from './daemon-options.js';

export const workerCommand = defineCommand({
  name: 'worker',
  describe: 'run one or more workers, which execute tasks',
  examples: [
    [
      'goshawk worker --central-url tcp://127.0.0.1:7070 --slots 4',
      'one worker that runs four tasks at a time',
    ],
    ['goshawk worker --workers 25 --resources memory=8GiB,gpu=1', 'twenty-five workers in one process'],
  ],
  options: {
    ...MEMBER_OPTIONS,
    name: {
      type: 'text',
      value: 'NAME',
      describe:
        'name of the worker; a number is appended if there are several (default: from host and process)',
    },
    workers: {
      type: 'count',
      default: 1,
      min: 1,
      max: 10_000,
      describe: 'number of workers in this process',
    },
    numbered: { type: 'flag', rare: true, describe: 'append a number even to a single worker' },
    firstNumber: { type: 'count', default: 0, rare: true, describe: 'number of the first worker' },
    slots: SLOTS_OR_NONE_OPTION,
    resources: {
      ...RESOURCES_OPTION,
      describe: `${RESOURCES_OPTION.describe} (default: one CPU per slot and an equal share of the memory)`,
    },
    attribute: ATTRIBUTE_OPTION,
    memoryShares: {
      type: 'count',
      min: 1,
      rare: true,
      describe:
        'number of workers that share the memory of this machine equally (default: those of this process)',
    },
    dataFolder: {
      type: 'text',
      value: 'FOLDER',
      describe: 'folder for state that outlives the process (default: a temporary folder)',
    },
    taskCgroup: {
      type: 'text',
      value: 'FOLDER',
      describe:
        'folder of an empty version 2 cgroup, which limits commands to the CPU and memory that their job requests',
    },
    runAs: RUN_AS_OPTION,
    network: NETWORK_OPTION,
    hide: {
      type: 'texts',
      value: 'PATH',
      rare: true,
      describe:
        'file or folder that no task in a sandbox may see, besides keys and records of this worker; repeatable',
    },
    exec: { type: 'flag', default: true, describe: 'run commands (off: --no-exec)' },
    execOnly: {
      type: 'texts',
      value: 'PATH',
      describe:
        'allow only this command (absolute path), without the job’s environment variables; --module-only allows modules; repeatable',
    },
    moduleOnly: {
      type: 'texts',
      value: 'PATH',
      describe:
        'allow only this module or the modules in this folder (absolute path); --exec-only allows commands; repeatable',
    },
    module: { type: 'flag', default: true, describe: 'run functions of modules (off: --no-module)' },
    ...DAEMON_OPTIONS,
  },
  async run(context, options) {
    const { createLogger, startWorkers } = await import('@goshawk/runtime');
    const name = options.name ?? `worker-${hostname()}-${process.pid}`;
    const names =
      options.workers === 1 && !options.numbered
        ? [name]
        : Array.from({ length: options.workers }, (_, i) => `${name}${options.firstNumber + i}`);
    const memory = Math.floor(availableMemory() / (options.memoryShares ?? options.workers));
    const stated = capacityOf(options.slots, options.resources);
    const capacity = { ...stated, memory: stated.memory ?? memory };
    const attributesOf = parseAttributes(options.attribute);
    const logger = createLogger(options.logLevel, { role: 'worker', name });
    if (process.pid === 1) logger.warn({}, FIRST_PROCESS);
    const keys = await keysFor('worker', context);
    const http = await httpOptions(context, options);
    // Threads and processes cannot start in a folder that somebody has removed.
    process.chdir('/');
    const daemon = await startWorkers({
      ...options,
      http,
      auditLog: auditLogOf(context, options),
      keys,
      names,
      capacity,
      gpuNames: gpuNamesOf(capacity, context.environment.CUDA_VISIBLE_DEVICES),
      attributes: names.map((_, index) => attributesOf(options.firstNumber + index)),
      central: options.centralUrl,
      dataFolder: resolve(context.cwd, options.dataFolder ?? join(privateTemporaryFolder(), names[0]!)),
      executors: {
        allow: allowedBy(options),
        cgroup: options.taskCgroup,
        folder: context.cwd,
      },
      runAs: options.runAs,
      network: options.network,
      hidden: [
        ...(keys?.path === undefined ? [] : [keys.path]),
        ...(context.global.keys === undefined ? [] : [resolve(context.cwd, context.global.keys)]),
        ...options.hide.map((path) => resolve(context.cwd, path)),
      ],
      logger,
    });
    return keep(daemon, context, options);
  },
});

/** Memory of this machine, or the limit of the container. Bytes. */
function availableMemory(): number {
  const allowed = process.constrainedMemory();
  // Without a limit it is 0, or more than there is.
  return allowed > 0 ? Math.min(allowed, totalmem()) : totalmem();
}

/** Node does not look after children that are not its own, and process 1 is given those whose parents have ended. */
const FIRST_PROCESS =
  'this is process 1, so orphaned processes of commands stay as zombies; start the container with an init (docker run --init)';

/**
 * Permissions of a worker. A list of one kind excludes the other kind, unless that has a list, too.
 * @throws InputError if a path is not absolute or does not exist
 */
export function allowedBy(
  options: Readonly<
    Record<'exec' | 'module', boolean> & Record<'execOnly' | 'moduleOnly', readonly string[]>
  >,
): { readonly exec: boolean | readonly string[]; readonly module: boolean | readonly string[] } {
  const { exec, execOnly, module, moduleOnly } = options;
  return {
    exec: permission(exec && (execOnly.length > 0 || moduleOnly.length === 0), execOnly, '--exec-only'),
    module: permission(
      module && (moduleOnly.length > 0 || execOnly.length === 0),
      moduleOnly,
      '--module-only',
    ),
  };
}

/** @throws InputError for a path that is not absolute, or is not there */
function permission(isOn: boolean, only: readonly string[], option: string): boolean | readonly string[] {
  if (!isOn || only.length === 0) return isOn;
  for (const path of only) {
    if (isAbsolute(path) && existsSync(path)) continue;
    throw new InputError('bad-option', `${option}: ${path} is not the absolute path of an existing file`);
  }
  return only;
}

import { existsSync } from 'node:fs';
import { hostname, totalmem } from 'node:os';
import { isAbsolute, join } from 'node:path';
import { InputError } from '@goshawk/core';
import { ATTRIBUTE_OPTION, parseAttributes } from '../attributes.js';
import { defineCommand } from '../command.js';
import { keysFor } from '../keys.js';
import { privateTemporaryFolder } from '../local/private-folder.js';
import { capacityOf, RESOURCES_OPTION, SLOTS_OR_NONE_OPTION } from '../resources.js';
import { CENTRAL_PORT, DAEMON_OPTIONS, httpOptions, keep } from './daemon-options.js';

export const workerCommand = defineCommand({
  name: 'worker',
  describe: 'run one or more workers: they run the tasks',
  examples: [
    [
      'goshawk worker --central-url tcp://127.0.0.1:7070 --slots 4',
      'a worker that runs four tasks at a time',
    ],
    ['goshawk worker --workers 25 --resources memory=8GiB,gpu=1', 'twenty-five of them in one process'],
  ],
  options: {
    bind: { type: 'text', default: 'tcp://127.0.0.1:0', describe: 'where to listen; port 0 for any' },
    centralUrl: { type: 'text', default: `tcp://127.0.0.1:${CENTRAL_PORT}`, describe: 'where central is' },
    name: { type: 'text', describe: 'what others call it; several are numbered (default: host and process)' },
    workers: { type: 'count', default: 1, min: 1, max: 10_000, describe: 'workers in this process' },
    numbered: { type: 'flag', describe: 'put a number behind the name, also when there is one only' },
    firstNumber: { type: 'count', default: 0, describe: 'number of the first, when there are several' },
    slots: SLOTS_OR_NONE_OPTION,
    resources: {
      ...RESOURCES_OPTION,
      describe: `${RESOURCES_OPTION.describe} (default: a cpu a slot, and an even share of memory)`,
    },
    attribute: ATTRIBUTE_OPTION,
    memoryShares: {
      type: 'count',
      min: 1,
      describe: 'workers on this machine, which share its memory evenly (default: those of this process)',
    },
    dataFolder: {
      type: 'text',
      describe: 'for records that outlive the process (default: in the temporary folder)',
    },
    exec: { type: 'flag', default: true, describe: 'run commands (--no-exec)' },
    execOnly: {
      type: 'texts',
      describe:
        'run this command and nothing else (modules by --module-only), by absolute path and without the submitter’s variables; repeatable',
    },
    moduleOnly: {
      type: 'texts',
      describe:
        'run this module, or those in this folder, and nothing else (commands by --exec-only), by absolute path; repeatable',
    },
    module: { type: 'flag', default: true, describe: 'run functions of modules (--no-module)' },
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
    const daemon = await startWorkers({
      ...options,
      http: await httpOptions(context, options),
      keys,
      names,
      capacity,
      attributes: names.map((_, index) => attributesOf(options.firstNumber + index)),
      central: options.centralUrl,
      dataFolder: options.dataFolder ?? join(privateTemporaryFolder(), names[0]!),
      executors: {
        allow: allowedBy(options),
      },
      logger,
    });
    return keep(daemon, context, options);
  },
});

/** What this machine has, or what the container around the process may use of it. Bytes. */
function availableMemory(): number {
  const allowed = process.constrainedMemory();
  // Without a limit it is 0, or more than there is.
  return allowed > 0 ? Math.min(allowed, totalmem()) : totalmem();
}

/** Node does not look after children that are not its own, and process 1 is given those whose parents have ended. */
const FIRST_PROCESS =
  'this is process 1: what commands leave behind stays as zombies; start the container with an init (docker run --init)';

/**
 * What a worker runs. Whoever lists one kind has thought of what runs there, and wants nothing else.
 *
 * @throws InputError for a path that is not absolute, or is not there
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
    throw new InputError(
      'bad-option',
      `${option}: ${path} is not the absolute path of something that is there`,
    );
  }
  return only;
}

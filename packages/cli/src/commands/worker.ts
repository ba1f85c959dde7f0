import { existsSync, readdirSync } from 'node:fs';
import { hostname } from 'node:os';
import { basename, dirname, isAbsolute, join, resolve } from 'node:path';
import { defineCommand } from '@goshawk/command';
import { gpuNamesOf, keysFor, parseAttributes, sizeOfWorker, WORKER_OPTIONS } from '@goshawk/command/cluster';
import { GPU, InputError, type Resources } from '@goshawk/core';
import { detectMachine, visibleGpus } from '../local/machine.js';
import { privateTemporaryFolder } from '../local/private-folder.js';
import { auditLogOf, httpOptions, keep } from './daemon-options.js';

export const workerCommand = defineCommand({
  name: 'worker',
  describe: 'run one or more workers, which execute tasks',
  examples: [
    [
      'goshawk worker --central-url tcp://127.0.0.1:7070',
      'run one worker with the resources of this machine',
    ],
    ['goshawk worker --cpus 4 --memory 16GiB --gpus 1', 'run one worker with these resources'],
    ['goshawk worker --workers 25 --cpus 1 --memory 8GiB', 'run twenty-five workers in one process'],
  ],
  needsNoCluster: true,
  options: WORKER_OPTIONS,
  async run(context, options) {
    const { createLogger, startWorkers } = await import('@goshawk/runtime');
    const keys = await keysFor('worker', context);
    const name = options.name ?? keys?.name ?? `worker-${hostname()}-${process.pid}`;
    const names =
      options.workers === 1 && !options.numbered
        ? [name]
        : Array.from({ length: options.workers }, (_, i) => `${name}${options.firstNumber + i}`);
    const machine = await detectMachine(context.environment);
    const shares = options.memoryShares ?? options.workers;
    const { slots, capacity } = sizeOfWorker(options, {
      cpu: Math.max(1, Math.floor(machine.cpus / shares)),
      memory: Math.floor(machine.memory / shares),
      [GPU]: Math.floor(machine.gpus.length / shares),
    });
    checkVisible(capacity, context.environment.CUDA_VISIBLE_DEVICES);
    const attributesOf = parseAttributes(options.attribute);
    const logger = createLogger(options.logLevel, { role: 'worker', name });
    if (process.pid === 1) logger.warn({}, FIRST_PROCESS);
    const http = await httpOptions(context, options);
    // Threads and processes cannot start in a folder that was removed.
    process.chdir('/');
    const daemon = await startWorkers({
      ...options,
      http,
      auditLog: auditLogOf(context, options),
      keys,
      names,
      slots,
      capacity,
      gpuNamesOf: (index) =>
        gpuNamesOf(capacity, machine.gpus, { index: options.firstNumber + index, of: shares }),
      attributes: names.map((_, index) => attributesOf(options.firstNumber + index)),
      central: options.centralUrl,
      dataFolder: resolve(context.cwd, options.dataFolder ?? join(privateTemporaryFolder(), names[0]!)),
      executors: {
        allow: allowedBy(options),
        cgroup: options.taskCgroup,
        folder: context.cwd,
        values: options.values && resolve(context.cwd, options.values),
      },
      runAs: options.runAs,
      network: options.network,
      hidden: [
        ...(keys?.path === undefined ? [] : [withOtherKeys(keys.path)]),
        ...(context.global.keys === undefined ? [] : [resolve(context.cwd, context.global.keys)]),
        // Tasks get their own large values from the worker.
        ...(options.values === undefined ? [] : [resolve(context.cwd, options.values)]),
        ...options.hide.map((path) => resolve(context.cwd, path)),
      ],
      logger,
    });
    return keep(daemon, context, options);
  },
});

/** Returns the folder of the key file if other keys are there too, which tasks must not see either; otherwise the file. */
export function withOtherKeys(path: string): string {
  const folder = dirname(path);
  const others = readdirSync(folder).filter((name) => name.endsWith('.key') && name !== basename(path));
  return others.length > 0 ? folder : path;
}

/** @throws InputError if CUDA_VISIBLE_DEVICES names fewer GPUs than the worker has */
function checkVisible(capacity: Resources, visible: string | undefined): void {
  const named = visibleGpus(visible ?? '').length;
  if (visible === undefined || named >= (capacity[GPU] ?? 0)) return;
  throw new InputError(
    'bad-option',
    `the worker has ${capacity[GPU]} GPUs, but CUDA_VISIBLE_DEVICES names ${named}`,
    'name as many devices as the worker has, or unset the variable',
  );
}

/** Node.js does not reap processes that it did not start, but process 1 inherits orphaned processes. */
const FIRST_PROCESS =
  'this is process 1, so orphaned processes of commands remain as zombies; start the container with an init (docker run --init)';

/**
 * Returns the permissions of a worker. A list for one kind excludes the other kind, unless that has a list
 * too.
 *
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

/** @throws InputError for a path that is not absolute or does not exist */
function permission(isOn: boolean, only: readonly string[], option: string): boolean | readonly string[] {
  if (!isOn || only.length === 0) return isOn;
  for (const path of only) {
    if (isAbsolute(path) && existsSync(path)) continue;
    throw new InputError('bad-option', `${option}: ${path} is not an absolute path, or does not exist`);
  }
  return only;
}

import {
  GPU,
  InputError,
  LIMITS,
  nameProblem,
  parseBytes,
  quoted,
  type Resources,
  slotsOf,
} from '@goshawk/core';
import type { OptionSpec } from '../options.js';
import { pairsIn } from '../pairs.js';

/** Option of workers and local clusters. `cpus` as a setting is the request of submitted tasks. */
export const CPUS_OPTION = {
  type: 'count',
  setting: 'workerCpus',
  min: 1,
  max: LIMITS.slotsMax,
  whenUnset: '1',
  describe: 'CPUs of each worker; a task uses one unless it requests another number',
} as const satisfies OptionSpec;

export const MEMORY_OPTION = {
  type: 'text',
  setting: 'workerMemory',
  value: 'SIZE',
  describe: 'memory of each worker: 8GiB (default: an equal share of the memory of the machine)',
} as const satisfies OptionSpec;

export const GPUS_OPTION = {
  type: 'count',
  setting: 'workerGpus',
  max: LIMITS.gpusMax,
  describe: 'GPUs of each worker (default: an equal share of the NVIDIA GPUs of the machine)',
} as const satisfies OptionSpec;

export const RESOURCES_OPTION = {
  type: 'text',
  setting: true,
  value: 'AMOUNTS',
  describe: 'further resources of each worker: memory=8GiB,gpu=1,license=2',
} as const satisfies OptionSpec;

/** Options that state the size of a worker. */
interface StatedSize {
  readonly cpus?: number | undefined;
  readonly memory?: string | undefined;
  readonly gpus?: number | undefined;
  readonly resources?: string | undefined;
}

interface WorkerSize {
  /** Number of tasks that can run at once without sharing a CPU. */
  readonly slots: number;
  readonly capacity: Resources;
}

/**
 * Returns the size of one worker. Amounts of `resources` override the other options.
 *
 * @param machine amounts that no option states
 * @throws InputError if an amount is invalid
 */
export function sizeOfWorker(
  { cpus, memory, gpus, resources }: StatedSize,
  machine: Resources = { cpu: 1 },
): WorkerSize {
  const stated = {
    ...(cpus === undefined ? {} : { cpu: cpus }),
    ...(memory === undefined ? {} : { memory: parseBytes(memory, '--memory') }),
    ...(gpus === undefined ? {} : { [GPU]: gpus }),
  };
  const { [GPU]: gpu = 0, ...rest } = { ...machine, ...stated, ...parseResources(resources) };
  const capacity = gpu === 0 ? rest : { ...rest, [GPU]: gpu };
  return { slots: cpus ?? slotsOf(capacity), capacity };
}

/**
 * Returns the names of the GPUs that a worker assigns to tasks; undefined: tasks get indices. Workers that
 * share a machine get different GPUs if there are enough for all.
 *
 * @param devices names of the GPUs of the machine; undefined: unknown
 * @param at index of the worker among the workers of the machine, and the number of these workers
 */
export function gpuNamesOf(
  capacity: Resources,
  devices: readonly string[] | undefined,
  at: { readonly index: number; readonly of: number },
): readonly string[] | undefined {
  const count = Math.ceil(capacity[GPU] ?? 0);
  if (count === 0 || devices === undefined || devices.length < count) return undefined;
  const first = devices.length < count * at.of ? 0 : count * (at.index % at.of);
  return devices.slice(first, first + count);
}

/** Returns the capacity of all workers together. */
export function timesAll(capacity: Resources, workers: number): Resources {
  return Object.fromEntries(Object.entries(capacity).map(([name, amount]) => [name, amount * workers]));
}

/** @throws InputError if it is not NAME=AMOUNT,… */
export function parseResources(text: string | undefined): Resources {
  const amounts = amountsIn(text === undefined ? [] : text.split(','), {
    option: '--resources',
    hint: 'write them as memory=8GiB,gpu=1',
  });
  const count = Object.keys(amounts).length;
  if (count <= LIMITS.resourcesMax) return amounts;
  throw new InputError(
    'bad-option',
    `--resources: at most ${LIMITS.resourcesMax} resources are allowed, not ${count}`,
  );
}

/** @throws InputError for an invalid amount and for a repeated resource */
export function amountsIn(
  texts: readonly string[],
  of: { readonly option: `--${string}`; readonly hint: string },
): Record<string, number> {
  const pairs = pairsIn(texts, { ...of, form: 'NAME=AMOUNT' });
  return Object.fromEntries(
    Array.from(pairs, ([name, amount]) => {
      if (nameProblem(name) !== undefined || name === '__proto__')
        throw new InputError('bad-option', `${of.option}: ${quoted(name)} is not a valid name of a resource`);
      return [name, parseBytes(amount, of.option)];
    }),
  );
}

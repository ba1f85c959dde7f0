import { GPU, InputError, LIMITS, parseBytes, quoted, type Resources } from '@goshawk/core';
import type { OptionSpec } from '../options.js';
import { pairsIn } from '../pairs.js';

/** Option of workers and local clusters. */
export const SLOTS_OPTION = {
  type: 'count',
  default: 1,
  min: 1,
  max: LIMITS.slotsMax,
  describe: 'concurrent tasks per worker',
} as const satisfies OptionSpec;

/** The same option; 0 means workers without a fixed number of slots. */
export const SLOTS_OR_NONE_OPTION = {
  ...SLOTS_OPTION,
  none: 0,
  describe: `${SLOTS_OPTION.describe}; none: as many as fit into its --resources, for packing policies`,
} as const satisfies OptionSpec;

export const RESOURCES_OPTION = {
  type: 'text',
  value: 'AMOUNTS',
  describe: 'capacity of each worker: cpu=4,memory=8GiB,gpu=1',
} as const satisfies OptionSpec;

/**
 * Returns the capacity of one worker: one CPU per slot, which `resources` may override.
 *
 * @param slots 0: no fixed number
 * @throws InputError if it is not NAME=AMOUNT,…, or is missing without slots
 */
export function capacityOf(slots: number, resources: string | undefined): Resources {
  if (slots > 0) return { cpu: slots, ...parseResources(resources) };
  if (resources !== undefined) return parseResources(resources);
  throw new InputError(
    'bad-option',
    '--slots none requires the capacity of the worker',
    'set it with --resources cpu=4,memory=8GiB',
  );
}

/**
 * Returns the GPUs that a worker assigns to tasks: those in CUDA_VISIBLE_DEVICES, if it is set.
 *
 * @throws InputError if it names fewer than the worker's capacity
 */
export function gpuNamesOf(capacity: Resources, visible: string | undefined): readonly string[] | undefined {
  const count = Math.ceil(capacity[GPU] ?? 0);
  if (count === 0 || visible === undefined) return undefined;
  const names = visible.split(',').filter((name) => name !== '');
  if (names.length >= count) return names;
  throw new InputError(
    'bad-option',
    `--resources gpu=${capacity[GPU]}: CUDA_VISIBLE_DEVICES names ${names.length}`,
    'name as many devices as the worker has, or unset the variable',
  );
}

/** Returns the capacity of all workers together. */
export function timesAll(capacity: Resources, workers: number): Resources {
  return Object.fromEntries(Object.entries(capacity).map(([name, amount]) => [name, amount * workers]));
}

/** @throws InputError if it is not NAME=AMOUNT,… */
function parseResources(text: string | undefined): Resources {
  const amounts = amountsIn(text === undefined ? [] : text.split(','), {
    option: '--resources',
    hint: 'write them as cpu=4,memory=8GiB',
  });
  const count = Object.keys(amounts).length;
  if (count <= LIMITS.resourcesMax) return amounts;
  throw new InputError('bad-option', `--resources: ${count} are more than ${LIMITS.resourcesMax}`);
}

/** @throws InputError for an invalid amount and for a repeated resource */
export function amountsIn(
  texts: readonly string[],
  of: { readonly option: `--${string}`; readonly hint: string },
): Record<string, number> {
  const pairs = pairsIn(texts, { ...of, form: 'NAME=AMOUNT' });
  return Object.fromEntries(
    Array.from(pairs, ([name, amount]) => {
      if (name.length > LIMITS.nameLengthMax || name === '__proto__')
        throw new InputError('bad-option', `${of.option}: ${quoted(name)} cannot name a resource`);
      return [name, parseBytes(amount, of.option)];
    }),
  );
}

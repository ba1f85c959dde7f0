import { GPU, InputError, LIMITS, parseBytes, quoted, type Resources } from '@goshawk/core';
import type { OptionSpec } from './options.js';

/** Both of a worker; wherever there are workers. */
export const SLOTS_OPTION = {
  type: 'count',
  default: 1,
  min: 1,
  max: LIMITS.slotsMax,
  describe: 'concurrent tasks of a worker',
} as const satisfies OptionSpec;

/** 0: workers without a fixed number of slots. */
export const SLOTS_OR_NONE_OPTION = {
  ...SLOTS_OPTION,
  none: 0,
  describe: `${SLOTS_OPTION.describe}; none: as many as its --resources hold, for policies that pack`,
} as const satisfies OptionSpec;

export const RESOURCES_OPTION = {
  type: 'text',
  value: 'AMOUNTS',
  describe: 'capacity of each worker: cpu=4,memory=8GiB,gpu=1',
} as const satisfies OptionSpec;

/**
 * What the tasks of one worker may use together: a cpu a slot unless told otherwise.
 *
 * @param slots 0: no fixed number
 * @throws InputError when it is not NAME=AMOUNT,…, and without slots when nothing is said
 */
export function capacityOf(slots: number, resources: string | undefined): Resources {
  if (slots > 0) return { cpu: slots, ...parseResources(resources) };
  if (resources !== undefined) return parseResources(resources);
  throw new InputError(
    'bad-option',
    '--slots none: how many tasks fit a worker is unknown',
    'give its capacity: --resources cpu=4,memory=8GiB',
  );
}

/**
 * The GPUs that a worker gives out: those that CUDA_VISIBLE_DEVICES names, where it is set.
 *
 * @throws InputError where it names fewer than the worker is to have
 */
export function gpuNamesOf(capacity: Resources, visible: string | undefined): readonly string[] | undefined {
  const count = Math.ceil(capacity[GPU] ?? 0);
  if (count === 0 || visible === undefined) return undefined;
  const names = visible.split(',').filter((name) => name !== '');
  if (names.length >= count) return names;
  throw new InputError(
    'bad-option',
    `--resources gpu=${capacity[GPU]}: CUDA_VISIBLE_DEVICES names ${names.length}`,
    'name as many devices as the worker has, or leave the variable out',
  );
}

/** Of so many workers together. */
export function timesAll(capacity: Resources, workers: number): Resources {
  return Object.fromEntries(Object.entries(capacity).map(([name, amount]) => [name, amount * workers]));
}

/** @throws InputError when it is not NAME=AMOUNT,… */
function parseResources(text: string | undefined): Resources {
  if (text === undefined) return {};
  const amounts = text.split(',').map((part): [name: string, amount: number] => {
    const [name, amount, ...rest] = part.split('=');
    if (name === undefined || name.trim() === '' || amount === undefined || rest.length > 0) {
      throw new InputError(
        'bad-option',
        `--resources: "${part}" is not NAME=AMOUNT`,
        'write them as cpu=4,memory=8GiB',
      );
    }
    return [checkName(name.trim()), parseBytes(amount, '--resources')];
  });
  const resources = eachOnce(amounts, '--resources');
  if (amounts.length <= LIMITS.resourcesMax) return resources;
  throw new InputError('bad-option', `--resources: ${amounts.length} are more than ${LIMITS.resourcesMax}`);
}

/** @throws InputError for a name that is there twice: either amount could be meant */
export function eachOnce(
  amounts: readonly (readonly [name: string, amount: number])[],
  option: string,
): Record<string, number> {
  const found = Object.fromEntries(amounts);
  const twice = amounts.find(([name], index) => amounts.findIndex(([other]) => other === name) !== index);
  if (twice !== undefined) throw new InputError('bad-option', `${option} names ${twice[0]} twice`);
  return found;
}

function checkName(name: string): string {
  if (name.length <= LIMITS.nameLengthMax && name !== '__proto__') return name;
  throw new InputError('bad-option', `--resources: ${quoted(name)} cannot name a resource`);
}

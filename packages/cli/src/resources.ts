import { InputError, LIMITS, parseBytes, quoted, type Resources } from '@goshawk/core';
import type { OptionSpec } from './options.js';

/** Both of a worker; wherever there are workers. */
export const SLOTS_OPTION = {
  type: 'count',
  default: 1,
  min: 1,
  max: LIMITS.slotsMax,
  describe: 'tasks that a worker runs at a time',
} as const satisfies OptionSpec;

export const RESOURCES_OPTION = {
  type: 'text',
  describe: 'what the tasks of one worker may use together: cpu=4,memory=8GiB,gpu=1',
} as const satisfies OptionSpec;

/** @throws InputError when it is not NAME=AMOUNT,… */
export function parseResources(text: string | undefined): Resources {
  if (text === undefined) return {};
  const resources = Object.fromEntries(
    text.split(',').map((part) => {
      const [name, amount, ...rest] = part.split('=');
      if (name === undefined || name.trim() === '' || amount === undefined || rest.length > 0) {
        throw new InputError(
          'bad-option',
          `--resources: "${part}" is not NAME=AMOUNT`,
          'write them as cpu=4,memory=8GiB',
        );
      }
      return [checkName(name.trim()), parseBytes(amount, '--resources')];
    }),
  );
  const count = Object.keys(resources).length;
  if (count <= LIMITS.resourcesMax) return resources;
  throw new InputError('bad-option', `--resources: ${count} are more than ${LIMITS.resourcesMax}`);
}

function checkName(name: string): string {
  if (name.length <= LIMITS.nameLengthMax && name !== '__proto__') return name;
  throw new InputError('bad-option', `--resources: ${quoted(name)} cannot name a resource`);
}

import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { InputError } from '@goshawk/core';
import { type NetworkModel, parseNetwork } from '@goshawk/simulator';
import type { SimulateOptions } from './options.js';

/**
 * What `--network-delay` says.
 *
 * @param cwd paths in it start here
 * @throws InputError in one line, also for a file that cannot be read or is none of measured delays
 */
export function networkOf(
  { networkDelay }: Pick<SimulateOptions, 'networkDelay'>,
  cwd: string,
): NetworkModel {
  return parseNetwork(networkDelay, '--network-delay', (path) => {
    try {
      return readFileSync(resolve(cwd, path), 'utf8');
    } catch (error) {
      throw new InputError(
        'bad-delays',
        `--network-delay: cannot read ${path}: ${(error as Error).message}`,
        '',
        { cause: error },
      );
    }
  });
}

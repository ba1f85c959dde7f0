import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Finding } from './hunt.js';
import type { Mutant } from './mutant.js';

const MUTANTS_FOLDER = join(import.meta.dirname, '../../../dist/chaos/mutants');

/**
 * Plays seeds with the bug in a separate process.
 *
 * @returns the first seed that finds it
 */
export async function hunt(
  { name, shared, faultFree, hostile }: Mutant,
  seeds: number,
  from = 0,
): Promise<Finding | undefined> {
  const argv = [
    '--import',
    join(MUTANTS_FOLDER, 'plant.js'),
    join(MUTANTS_FOLDER, 'hunt.js'),
    String(seeds),
    String(from),
  ];
  const env = {
    ...process.env,
    CHAOS_MUTANT: name,
    CHAOS_SHARED: shared === true ? '1' : '',
    CHAOS_FAULT_FREE: faultFree === true ? '1' : '',
    CHAOS_HOSTILE: hostile === true ? '1' : '',
  };
  const { stdout } = await promisify(execFile)(process.execPath, argv, { env });
  return stdout === '' ? undefined : (JSON.parse(stdout) as Finding);
}

import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Finding } from './hunt.js';
import { type Mutant, pathOf } from './mutant.js';

const MUTANTS_FOLDER = join(import.meta.dirname, '../../../dist/chaos/mutants');
const ROOT = join(import.meta.dirname, '../../../..');

/**
 * Plays seeds with the bug in a separate process, or runs its test.
 *
 * @returns the first seed or test that finds it
 */
export async function hunt(mutant: Mutant, seeds: number, from = 0): Promise<Finding | undefined> {
  const { name, shared, faultFree, hostile, test } = mutant;
  if (test !== undefined) return runTest(mutant, test);
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

/** The parts of Vitest's JSON report that are used here. */
interface TestReport {
  readonly testResults: readonly {
    readonly assertionResults: readonly { readonly status: string; readonly fullName: string }[];
  }[];
}

async function runTest(mutant: Mutant, test: string): Promise<Finding | undefined> {
  const { find, replace } = mutant;
  const planted = JSON.stringify({ path: pathOf(mutant), find, replace });
  // TEST_RESULTS is the file for the report of a run that this may be part of; this one goes to stdout.
  const env = { ...process.env, TEST_RESULTS: undefined, PLANTED_BUG: planted };
  const vitest = join(ROOT, 'node_modules/vitest/vitest.mjs');
  const argv = [vitest, 'run', '--project', 'unit', '--reporter=json', test];
  const startedAt = performance.now();
  try {
    await promisify(execFile)(process.execPath, argv, { cwd: ROOT, env });
    return undefined;
  } catch (error) {
    const { testResults } = JSON.parse((error as { stdout: string }).stdout) as TestReport;
    const failed = testResults
      .flatMap(({ assertionResults }) => assertionResults)
      .find(({ status }) => status === 'failed');
    if (failed === undefined) throw error;
    return { by: test, complaint: failed.fullName, seconds: (performance.now() - startedAt) / 1_000 };
  }
}

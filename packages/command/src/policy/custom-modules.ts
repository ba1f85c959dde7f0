import { spawnSync } from 'node:child_process';
import { statSync } from 'node:fs';
import { basename, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { describeThrownIn, InputError, PAPER_POLICY_NAMES } from '@goshawk/core';
import { addCustomPolicy } from '@goshawk/policies';
import { addCustomEstimator } from '@goshawk/predictor';
import { isCustom } from '../module-names.js';
import { findPapers } from './papers.js';

/**
 * Loads the custom policies and estimators that options name. Absolute paths then identify estimators, also
 * within the cluster.
 *
 * @throws InputError for a file that is missing, throws, or breaks the contract
 */
export async function withCustomModules<O extends Readonly<Record<string, unknown>>>(
  options: O,
  cwd: string,
): Promise<O> {
  const { policy, estimator, shadow } = options;
  if (typeof policy === 'string') {
    for (const entry of listed(policy)) {
      await loadPolicy(entry.split(':')[0]!, cwd);
    }
  }
  const found: Record<string, string> = {};
  for (const [flag, text] of Object.entries({ estimator, shadow })) {
    if (typeof text !== 'string') continue;
    const names = listed(text).map((name) => (isCustom(name) ? resolve(cwd, name) : name));
    for (const name of names) if (isCustom(name)) await loadCustomEstimator(name);
    found[flag] = names.join(',');
  }
  return { ...options, ...found };
}

/**
 * Loads the policy if it is in a file or in `@goshawk/papers`; others are built in.
 *
 * @throws InputError for a file that does not export a policy
 */
export async function loadPolicy(name: string, cwd: string): Promise<void> {
  if (PAPER_POLICY_NAMES.includes(name)) (await findPapers())?.addPapers();
  if (!isCustom(name)) return;
  const path = resolve(cwd, name);
  addCustomPolicy(name, path, await defaultExport(`--policy ${name}`, path));
}

/** @param path absolute @throws InputError */
export async function loadCustomEstimator(path: string): Promise<void> {
  addCustomEstimator(path, await defaultExport(`--estimator ${path}`, path));
}

async function defaultExport(where: string, path: string): Promise<unknown> {
  const stats = statSync(path, { throwIfNoEntry: false });
  if (stats?.isFile() !== true) {
    const problem = stats === undefined ? 'does not exist' : 'is a folder, a pipe or a device';
    throw new InputError('no-such-module', `${where}: the file ${path} ${problem}`, 'check the path');
  }
  let loaded: { readonly default?: unknown };
  try {
    loaded = (await import(pathToFileURL(path).href)) as { default?: unknown };
  } catch (error) {
    const what = error instanceof SyntaxError ? syntaxError(error, path) : describeThrownIn(error, path);
    throw new InputError('bad-module', `${where}: cannot load it: ${what}`, '', { cause: error });
  }
  return loaded.default;
}

/** Describes a syntax error with its line, which only `node --check` reports. */
function syntaxError({ message }: SyntaxError, path: string): string {
  const { stderr } = spawnSync(process.execPath, ['--check', path], { encoding: 'utf8' });
  const line = /:(\d+)$/m.exec(stderr)?.[1];
  return `SyntaxError: ${message}${line === undefined ? '' : ` (${basename(path)}:${line})`}`;
}

function listed(text: string): string[] {
  return text.split(',').map((part) => part.trim());
}

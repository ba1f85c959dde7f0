import { spawnSync } from 'node:child_process';
import { statSync } from 'node:fs';
import { basename, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { Worker } from 'node:worker_threads';
import {
  describeThrownIn,
  GoshawkError,
  InputError,
  messageOfThrown,
  PAPER_POLICY_NAMES,
} from '@goshawk/core';
import { addCustomPolicy } from '@goshawk/policies';
import { addCustomEstimator } from '@goshawk/predictor';
import type { ModuleUse } from '../command.js';
import { isCustom } from '../module-names.js';
import { findPapers } from './papers.js';

/**
 * Loads the custom policies and estimators that options name. Absolute paths then identify estimators, also
 * within the cluster.
 *
 * @param use see `modules` of commands
 * @throws InputError for a file that is missing, throws, or breaks the contract
 */
export async function withCustomModules<O extends Readonly<Record<string, unknown>>>(
  options: O,
  cwd: string,
  use?: ModuleUse,
): Promise<O> {
  if (use === undefined) return loadAll(options, cwd, () => {});
  const { holdLaterFailures } = await import('@goshawk/runtime');
  const before = process.listeners('exit');
  try {
    return await loadAll(options, cwd, holdLaterFailures);
  } finally {
    // Handlers of a module that others run must not block the exit of this process.
    if (use === 'checked')
      for (const added of process.listeners('exit')) if (!before.includes(added)) process.off('exit', added);
  }
}

/** @param loads called with the absolute path of each file before it is loaded */
async function loadAll<O extends Readonly<Record<string, unknown>>>(
  options: O,
  cwd: string,
  loads: (path: string) => void,
): Promise<O> {
  const { policy, estimator, shadow } = options;
  if (typeof policy === 'string') {
    for (const entry of listed(policy)) {
      const [name] = entry.split(':') as [string];
      if (isCustom(name)) loads(resolve(cwd, name));
      await loadPolicy(name, cwd);
    }
  }
  const found: Record<string, string> = {};
  for (const [flag, text] of Object.entries({ estimator, shadow })) {
    if (typeof text !== 'string') continue;
    const names = listed(text).map((name) => (isCustom(name) ? resolve(cwd, name) : name));
    for (const name of names) {
      if (!isCustom(name)) continue;
      loads(name);
      await loadCustomEstimator(name);
    }
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
  const where = `--policy ${name}`;
  await returning(where, async () => addCustomPolicy(name, path, await defaultExport(where, path)));
}

/** @param path absolute @throws InputError */
export async function loadCustomEstimator(path: string): Promise<void> {
  const where = `--estimator ${path}`;
  await returning(where, async () => addCustomEstimator(path, await defaultExport(where, path)));
}

/** A module that blocks for this long in ms while it is loaded and checked never returns. */
const BLOCKED_MS = 5_000;

/** Waits for a sign of life of the main thread, and ends the process if none comes: its handlers of signals cannot run either. */
const WATCH = `
const { workerData: { beats, blockedMs, line } } = require('node:worker_threads');
for (let last = Atomics.load(beats, 0); last >= 0; last = Atomics.load(beats, 0)) {
  if (Atomics.wait(beats, 0, last, blockedMs) !== 'timed-out') continue;
  require('node:fs').writeSync(2, line);
  process.kill(process.pid, 'SIGKILL');
}`;

/** Loads and checks a module; if that does not return, prints an error and ends the process. */
async function returning(where: string, load: () => Promise<void>): Promise<void> {
  const beats = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
  const line =
    `goshawk: ${where}: it has not returned for ${BLOCKED_MS / 1_000} s while it was loaded and checked; ` +
    'look for a loop that does not end, at the top level of the module and in its functions\n';
  const watch = new Worker(WATCH, { eval: true, workerData: { beats, blockedMs: BLOCKED_MS, line } });
  watch.unref();
  const timer = setInterval(() => {
    Atomics.add(beats, 0, 1);
    Atomics.notify(beats, 0);
  }, BLOCKED_MS / 10);
  // A module that waits for ever for nothing ends the process, as without this timer.
  timer.unref();
  try {
    await load();
  } catch (error) {
    if (error instanceof GoshawkError) throw error;
    // Fields of what it exports may throw.
    throw new InputError('bad-module', `${where}: it throws ${messageOfThrown(error)}`, '', { cause: error });
  } finally {
    clearInterval(timer);
    Atomics.store(beats, 0, -1);
    Atomics.notify(beats, 0);
    await watch.terminate();
  }
}

async function defaultExport(where: string, path: string): Promise<unknown> {
  const stats = statSync(path, { throwIfNoEntry: false });
  if (stats?.isFile() !== true) {
    const problem = stats === undefined ? 'does not exist' : 'is a folder, a pipe or a device';
    throw new InputError('no-such-module', `${where}: the file ${path} ${problem}`, 'check the path');
  }
  try {
    const loaded = (await import(pathToFileURL(path).href)) as { default?: unknown };
    return loaded.default;
  } catch (error) {
    throw new InputError('bad-module', `${where}: cannot load it: ${whyNotLoaded(error, path)}`, '', {
      cause: error,
    });
  }
}

function whyNotLoaded(error: unknown, path: string): string {
  const what = describeThrownIn(error, path);
  if (!what.startsWith('SyntaxError: ')) return what;
  // Only `node --check` reports the line of a syntax error.
  const { stderr } = spawnSync(process.execPath, ['--check', path], { encoding: 'utf8' });
  const line = /:(\d+)$/m.exec(stderr)?.[1];
  return line === undefined ? what : `${what} (${basename(path)}:${line})`;
}

function listed(text: string): string[] {
  return text.split(',').map((part) => part.trim());
}

import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { InputError, UnreachableError } from '@goshawk/core';
import type { Context } from '../context.js';

/** Where `goshawk up` leaves word of its cluster. */
interface Whereabouts {
  readonly url: string;
  /** The folder of its keys; they are for whoever may read it. */
  readonly keys?: string | undefined;
  readonly pid: number;
}

function fileOf(environment: Context['environment']): string {
  const state = environment.XDG_STATE_HOME || join(homedir(), '.local', 'state');
  return join(state, 'goshawk', 'cluster.json');
}

export function leaveWord(
  { url, keys }: { readonly url: string; readonly keys: string | undefined },
  environment: Context['environment'],
): void {
  const file = fileOf(environment);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, `${JSON.stringify({ url, keys, pid: process.pid } satisfies Whereabouts)}\n`);
}

/** Only what this process left: another cluster may have been started since. */
export function takeWordBack(environment: Context['environment']): void {
  if (readWord(environment)?.pid === process.pid) rmSync(fileOf(environment), { force: true });
}

/** Where a cluster is, and where its keys are if it has left word of that. */
export interface FoundCluster {
  readonly url: string;
  readonly keys?: string | undefined;
}

/**
 * The cluster that a command is meant for: `--cluster`, `GOSHAWK_CLUSTER`, or the one that runs here.
 *
 * @throws InputError when what was given is no URL, UnreachableError when nothing was given and none runs
 */
export function findCluster(context: Context): FoundCluster {
  const { cluster } = context.global;
  const word = readWord(context.environment);
  if (cluster !== undefined) {
    for (const url of cluster.split(',')) {
      if (!/^(tcp:\/\/.+:\d+|ipc:\/\/.+)$/.test(url.trim())) {
        throw new InputError('bad-cluster', `--cluster: "${url}" is no URL`, 'write tcp://HOST:PORT');
      }
    }
    return word?.url === cluster ? word : { url: cluster };
  }
  if (word === undefined || !isAlive(word.pid)) {
    throw new UnreachableError(
      'no-cluster',
      'no cluster is running here',
      'start one with `goshawk up`, or say where it is with --cluster',
    );
  }
  return word;
}

function readWord(environment: Context['environment']): Whereabouts | undefined {
  try {
    return JSON.parse(readFileSync(fileOf(environment), 'utf8')) as Whereabouts;
  } catch {
    return undefined;
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

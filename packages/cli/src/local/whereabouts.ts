import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { InputError, UnreachableError } from '@goshawk/core';
import type { Context } from '../context.js';

/** Where `goshawk up` leaves word of its cluster. */
interface Whereabouts {
  readonly url: string;
  readonly pid: number;
}

function fileOf(environment: Context['environment']): string {
  const state = environment.XDG_STATE_HOME || join(homedir(), '.local', 'state');
  return join(state, 'goshawk', 'cluster.json');
}

export function leaveWord(url: string, environment: Context['environment']): void {
  const file = fileOf(environment);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, `${JSON.stringify({ url, pid: process.pid } satisfies Whereabouts)}\n`);
}

/** Only what this process left: another cluster may have been started since. */
export function takeWordBack(environment: Context['environment']): void {
  if (readWord(environment)?.pid === process.pid) rmSync(fileOf(environment), { force: true });
}

/**
 * The cluster that a command is meant for: `--cluster`, `GOSHAWK_CLUSTER`, or the one that runs here.
 *
 * @throws InputError when what was given is no URL, UnreachableError when nothing was given and none runs
 */
export function clusterUrl(context: Context): string {
  const { cluster } = context.global;
  if (cluster !== undefined) {
    for (const url of cluster.split(',')) {
      if (!/^(tcp:\/\/.+:\d+|ipc:\/\/.+)$/.test(url.trim())) {
        throw new InputError('bad-cluster', `--cluster: "${url}" is no URL`, 'write tcp://HOST:PORT');
      }
    }
    return cluster;
  }
  const word = readWord(context.environment);
  if (word === undefined || !isAlive(word.pid)) {
    throw new UnreachableError(
      'no-cluster',
      'no cluster is running here',
      'start one with `goshawk up`, or say where it is with --cluster',
    );
  }
  return word.url;
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

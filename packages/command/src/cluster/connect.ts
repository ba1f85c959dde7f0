import type { Cluster, ConnectOptions, connect as connectTo } from '@goshawk/client';
import { InputError } from '@goshawk/core';
import type { Context } from '../context.js';
import { keySource } from './keys.js';

/** A cluster's address, and its keys if `up` recorded them. */
export interface FoundCluster {
  readonly url: string;
  readonly keys?: string | undefined;
  /** Data folder of a local cluster. */
  readonly dataFolder?: string | undefined;
  /** Data folder of a cluster that runs from another folder, if no option named the cluster. */
  readonly elsewhere?: string | undefined;
}

/**
 * Finds the cluster for a command: the one that `--cluster` or `GOSHAWK_CLUSTER` names, or else the local one
 * (`findLocalCluster`).
 *
 * @param cluster URL, if an option other than `--cluster` names it
 * @throws InputError if a URL is invalid or several local clusters run; UnreachableError if none runs
 */
export async function findCluster(
  context: Context,
  cluster = context.global.cluster,
  option = '--cluster',
): Promise<FoundCluster> {
  const { findLocalCluster, isHere, localClusterAt } = await client();
  if (cluster !== undefined) {
    for (const url of cluster.split(',')) {
      if (!/^tcp:\/\/.+:\d+$/.test(url.trim())) {
        throw new InputError('bad-cluster', `${option}: "${url}" is not a URL`, 'write tcp://HOST:PORT');
      }
    }
    const { keys, dataFolder } = localClusterAt(cluster, context.environment, context.cwd) ?? {};
    return { url: cluster, keys, dataFolder };
  }
  const found = findLocalCluster(context.environment, context.cwd);
  return isHere(found, context.cwd) ? found : { ...found, elsewhere: found.dataFolder };
}

/**
 * Connects to the cluster for a command. Close the connection, or open it with `await using`.
 *
 * @param options address, if it is already known, and timeouts that differ from the client's defaults
 * @throws InputError for invalid keys; UnreachableError within a few seconds if nothing answers there
 */
export async function openCluster(
  context: Context,
  { found, ...patience }: Pick<ConnectOptions, 'requestTimeoutMs'> & { found?: FoundCluster } = {},
): Promise<Cluster> {
  const { url, keys } = found ?? (await findCluster(context));
  return connect(url, {
    absentTimeoutMs: ABSENT_MS,
    ...patience,
    signal: context.interrupted,
    keys: keySource(context) ?? keys,
  });
}

/** Commands that ask twice, such as `top` and `wait`, still answer within three seconds. */
const ABSENT_MS = 1_000;

/** Calls `connect` of the client. */
export async function connect(...given: Parameters<typeof connectTo>): Promise<Cluster> {
  return (await client()).connect(...given);
}

/** Loads the client on first use, because most commands never connect to a cluster. */
function client() {
  return import('@goshawk/client');
}

import type { Cluster, ConnectOptions, connect as connectTo } from '@goshawk/client';
import { InputError } from '@goshawk/core';
import type { Context } from '../context.js';
import { keySource } from './keys.js';

/** A cluster's address, and its keys if `up` recorded them. */
export interface FoundCluster {
  readonly url: string;
  readonly keys?: string | undefined;
  /** Its data folder, where nobody named the cluster and it runs from another folder than this. */
  readonly elsewhere?: string | undefined;
}

/**
 * The cluster that a command is meant for: that of `--cluster` or `GOSHAWK_CLUSTER`, else the local one (`findLocalCluster`).
 *
 * @param cluster its URL, where another option than `--cluster` names it
 * @throws InputError when what was given is not a URL, or several run; UnreachableError when none does
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
    return { url: cluster, keys: localClusterAt(cluster, context.environment, context.cwd)?.keys };
  }
  const found = findLocalCluster(context.environment, context.cwd);
  return isHere(found, context.cwd) ? found : { ...found, elsewhere: found.dataFolder };
}

/**
 * A connection to the cluster that a command is meant for. Close it, or open it with `await using`.
 *
 * @param options where it is, if that is known already, and patience other than the client's own
 * @throws InputError for keys that are none; UnreachableError within a few seconds when nobody answers there
 */
export async function openCluster(
  context: Context,
  { found, ...patience }: Pick<ConnectOptions, 'requestTimeoutMs'> & { found?: FoundCluster } = {},
): Promise<Cluster> {
  const { url, keys } = found ?? (await findCluster(context));
  return connect(url, { ...patience, signal: context.interrupted, keys: keySource(context) ?? keys });
}

/** `connect` of the client. */
export async function connect(...given: Parameters<typeof connectTo>): Promise<Cluster> {
  return (await client()).connect(...given);
}

/** Loaded on use: most commands never talk to a cluster. */
function client() {
  return import('@goshawk/client');
}

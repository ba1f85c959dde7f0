import { InputError } from '@goshawk/core';
import type { Context } from '../context.js';

/** Where a cluster is, and where its keys are if it has left word of that. */
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
  // Loaded now: most commands never talk to a cluster.
  const { findLocalCluster, isHere, localClusterAt } = await import('@goshawk/client');
  if (cluster !== undefined) {
    for (const url of cluster.split(',')) {
      if (!/^tcp:\/\/.+:\d+$/.test(url.trim())) {
        throw new InputError('bad-cluster', `${option}: "${url}" is not a URL`, 'write tcp://HOST:PORT');
      }
    }
    return { url: cluster, keys: localClusterAt(cluster, context.environment)?.keys };
  }
  const found = findLocalCluster(context.environment, context.cwd);
  return isHere(found, context.cwd) ? found : { ...found, elsewhere: found.dataFolder };
}

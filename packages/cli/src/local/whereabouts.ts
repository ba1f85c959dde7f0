import { InputError, UnreachableError } from '@goshawk/core';
import type { Context } from '../context.js';

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
export async function findCluster(context: Context): Promise<FoundCluster> {
  // Loaded now: most commands never talk to a cluster.
  const { latestLocalCluster, localClusterAt } = await import('@goshawk/client');
  const { cluster } = context.global;
  if (cluster !== undefined) {
    for (const url of cluster.split(',')) {
      if (!/^(tcp:\/\/.+:\d+|ipc:\/\/.+)$/.test(url.trim())) {
        throw new InputError('bad-cluster', `--cluster: "${url}" is no URL`, 'write tcp://HOST:PORT');
      }
    }
    return { url: cluster, keys: localClusterAt(cluster, context.environment)?.keys };
  }
  const latest = latestLocalCluster(context.environment);
  if (latest === undefined) {
    throw new UnreachableError(
      'no-cluster',
      'no cluster is running here',
      'start one with `goshawk up`, or say where it is with --cluster',
    );
  }
  return latest;
}

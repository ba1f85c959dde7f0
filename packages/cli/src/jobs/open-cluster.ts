import type { Cluster } from '@goshawk/client';
import { connect } from '../connect.js';
import type { Context } from '../context.js';
import { clusterUrl } from '../local/whereabouts.js';

/**
 * The cluster that the command is meant for. Close it, or open it with `await using`.
 *
 * @throws UnreachableError within a few seconds when nobody answers there
 */
export function openCluster(context: Context): Promise<Cluster> {
  return connect(clusterUrl(context), { signal: context.interrupted });
}

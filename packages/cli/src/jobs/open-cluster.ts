import type { Cluster, ConnectOptions } from '@goshawk/client';
import { connect } from '../connect.js';
import type { Context } from '../context.js';
import { keySource } from '../keys.js';
import { type FoundCluster, findCluster } from '../local/whereabouts.js';

/**
 * The cluster that the command is meant for. Close it, or open it with `await using`.
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

import type { Cluster } from '@goshawk/client';
import { connect } from '../connect.js';
import type { Context } from '../context.js';
import { keySource } from '../keys.js';
import { findCluster } from '../local/whereabouts.js';

/**
 * The cluster that the command is meant for. Close it, or open it with `await using`.
 *
 * @throws InputError for keys that are none; UnreachableError within a few seconds when nobody answers there
 */
export async function openCluster(context: Context): Promise<Cluster> {
  const { url, keys } = await findCluster(context);
  return connect(url, { signal: context.interrupted, keys: keySource(context) ?? keys });
}

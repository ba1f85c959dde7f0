import type { Cluster } from '@goshawk/client';
import { InputError } from '@goshawk/core';

/**
 * Drains a worker unless it has left the cluster.
 *
 * @returns whether it was still there
 */
export async function drainUnlessGone(
  cluster: Pick<Cluster, 'drain'>,
  worker: string,
  on: boolean,
  signal: AbortSignal,
): Promise<boolean> {
  try {
    await cluster.drain(worker, on, { signal });
    return true;
  } catch (error) {
    if (error instanceof InputError && error.code === 'unknown-worker') return false;
    throw error;
  }
}

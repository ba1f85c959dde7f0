import type { Cluster } from '@goshawk/client';
import { InputError } from '@goshawk/core';

/** A worker that has left meanwhile needs nothing. @returns whether it was there */
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

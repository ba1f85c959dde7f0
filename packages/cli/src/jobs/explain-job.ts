import type { Cluster, ClusterView, JobHandle } from '@goshawk/client';
import { isFinal, present, UnreachableError } from '@goshawk/core';

/**
 * Explains why a job waits, with the settings and workers for a page about it, and the job itself once it has
 * ended.
 */
export async function explainJob(
  cluster: Cluster,
  job: JobHandle,
  {
    task,
    withEnd = true,
    signal,
  }: { readonly task?: number | undefined; readonly withEnd?: boolean; readonly signal: AbortSignal },
) {
  const [explained, view] = await Promise.all([
    job.explain({ ...present({ task }), signal }),
    viewOf(cluster, signal),
  ]);
  const ended = withEnd && isFinal(explained.job.state) ? await job.describe({ signal }) : undefined;
  return {
    explained,
    background: { cutoff: view?.settings.policy, workers: view?.workers, ended, now: Date.now() },
  };
}

/** Returns the cluster's settings and workers; undefined while central does not respond. */
async function viewOf(cluster: Cluster, signal: AbortSignal): Promise<ClusterView | undefined> {
  try {
    return await cluster.describe({ signal });
  } catch (error) {
    if (error instanceof UnreachableError) return undefined;
    throw error;
  }
}

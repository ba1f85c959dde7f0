import type { Cluster, connect as connectTo } from '@goshawk/client';

/** `connect` of the client, which is loaded now: most commands never talk to a cluster. */
export async function connect(...given: Parameters<typeof connectTo>): Promise<Cluster> {
  const client = await import('@goshawk/client');
  return client.connect(...given);
}

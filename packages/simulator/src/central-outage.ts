import { Central } from '@goshawk/central';
import type { Address, Millis } from '@goshawk/core';
import { VirtualCluster, type VirtualClusterOptions } from './virtual-cluster.js';

/** Central is killed at one time, and another one started in its place at the other. */
export interface CentralOutage {
  readonly fromMs: Millis;
  readonly untilMs: Millis;
  /** How it is noticed: connections break, as when a process ends, or nothing is heard, as when a machine loses power. */
  readonly noticedBy: 'connection' | 'silence';
}

/** For so long after a process was killed the others do not know it: live 3.4 to 4.7 ms, over loopback. */
const NOTICED_AFTER_MS = 4;

/**
 * A cluster whose central is away for a while, or never. Whichever central is alive stands behind the address of the
 * first, as behind an endpoint.
 */
export function clusterWithOutage(
  options: Omit<VirtualClusterOptions, 'carry'>,
  outage: CentralOutage | undefined,
): VirtualCluster {
  let successor: Address | undefined;
  const cluster = new VirtualCluster({
    ...options,
    carry: (from, to, message, on) =>
      on.post(from, to === on.centralAddress ? (successor ?? to) : to, message),
  });
  if (outage !== undefined) {
    cluster.at(outage.fromMs, () => cluster.kill(cluster.centralAddress));
    if (outage.noticedBy === 'connection')
      cluster.disconnectAt(outage.fromMs + NOTICED_AFTER_MS, cluster.centralAddress);
    cluster.at(outage.untilMs, () => {
      successor = cluster.add('another central', (self, environment) => {
        return new Central({ name: 'central', self, settings: options.settings }, environment);
      });
    });
  }
  return cluster;
}

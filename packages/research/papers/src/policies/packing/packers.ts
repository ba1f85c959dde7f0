import { BestFit } from './best-fit.js';
import type { ServerClass } from './configurations.js';
import { FifoFirstFit } from './fifo-first-fit.js';
import type { Fit } from './fit.js';
import type { Group } from './group.js';
import type { Packer } from './packer.js';
import { CAPACITY } from './partition.js';
import { ScalarFit } from './scalar-fit.js';
import { VirtualQueues } from './virtual-queues.js';
import { VirtualQueuesBestFit } from './virtual-queues-best-fit.js';

export const PACKING_NAMES = ['fifo-ff', 'bfjs', 'vqs', 'vqs-bf'] as const;
export type PackingName = (typeof PACKING_NAMES)[number];

export interface PackerOptions {
  /** J of the partition. */
  readonly j: number;
  readonly stall?: boolean;
  readonly arrivals?: 'bestFit' | 'serverOrder';
}

/** Capacities, classes and rooms of the servers. */
interface Servers {
  readonly fit: (rule: 'first' | 'best') => Fit;
  /** Capacity in units, by server. */
  readonly capacityOf: (server: number) => number;
  readonly classOf?: (server: number) => ServerClass;
  readonly holds?: (server: number, group: Group) => boolean;
}

/**
 * Creates a packer. By default, servers are equal and have one resource, as in cases, figures and benches.
 */
export function makePacker(
  name: PackingName,
  options: PackerOptions,
  servers: Servers = { fit: (rule) => new ScalarFit(rule, () => CAPACITY), capacityOf: () => CAPACITY },
): Packer {
  const all = { ...options, ...servers };
  switch (name) {
    case 'fifo-ff':
      return new FifoFirstFit(servers.fit('first'));
    case 'bfjs':
      return new BestFit(servers.fit('best'), all);
    case 'vqs':
      return new VirtualQueues(all);
    case 'vqs-bf':
      return new VirtualQueuesBestFit(servers.fit('best'), all);
  }
}

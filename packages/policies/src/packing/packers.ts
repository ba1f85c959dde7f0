import { BestFit } from './best-fit.js';
import { FifoFirstFit } from './fifo-first-fit.js';
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

/** The policy over equal servers of one resource, without messages: for cases, figures and benches. */
export function makePacker(name: PackingName, options: PackerOptions): Packer {
  const capacityOf = (): number => CAPACITY;
  switch (name) {
    case 'fifo-ff':
      return new FifoFirstFit((waiting) => new ScalarFit(waiting, 'first', capacityOf));
    case 'bfjs':
      return new BestFit((waiting) => new ScalarFit(waiting, 'best', capacityOf), { ...options, capacityOf });
    case 'vqs':
      return new VirtualQueues(options);
    case 'vqs-bf':
      return new VirtualQueuesBestFit((waiting) => new ScalarFit(waiting, 'best', capacityOf), {
        ...options,
        capacityOf,
      });
  }
}

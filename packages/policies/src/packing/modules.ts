import type { PolicyModule } from '../contract.js';
import type { PackingName } from './packers.js';
import { type PackingOptions, PackingPolicy } from './policy.js';

const OPTIONS: PolicyModule<PackingOptions>['options'] = {
  J: {
    default: 0,
    min: 0,
    max: 8,
    help: 'types of virtual queues are 2·J; 0: as many as the smallest task asks for, 16 at most',
  },
  stall: {
    default: false,
    help: 'a worker that is used badly while tasks wait starts nothing until it is empty',
  },
  decisionIntervalMs: {
    default: 0,
    min: 0,
    max: 60_000,
    help: 'tasks are placed at multiples of this time only; 0: at once',
  },
};

function packing(name: PackingName, title: string): PolicyModule<PackingOptions> {
  return {
    title,
    declares: false,
    packs: true,
    options: OPTIONS,
    make: (options) => new PackingPolicy(name, options),
  };
}

/** Psychas and Ghaderi, INFOCOM 2019; `docs/PACKING.md`. */
export const PACKING_MODULES: Readonly<Record<PackingName, PolicyModule<PackingOptions>>> = {
  'fifo-ff': packing('fifo-ff', 'first come, first served: the oldest task at the first worker with room'),
  bfjs: packing('bfjs', 'best fit: tasks where the least room is left over, the largest task first'),
  vqs: packing('vqs', 'virtual queues by size: an empty worker chooses which sizes it takes'),
  'vqs-bf': packing('vqs-bf', 'virtual queues by size, and best fit for what room is left'),
};

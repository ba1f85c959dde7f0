export { Central } from './central.js';
export * from './contract.js';
export { relabel, shortPartitionSize } from './partition.js';
export { type PlacedTask, WaitingTimeQueue } from './waiting-time-queue.js';

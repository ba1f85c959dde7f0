export { Central } from './central.js';
export { relabel, shortPartitionSize } from './cluster/partition.js';
export * from './contract.js';

export { EventHeap } from './event-heap.js';
export { VirtualCluster, type VirtualClusterOptions } from './virtual-cluster.js';

export { BestFit } from './best-fit.js';
export { bestConfiguration, type Configuration, kRed, weightOf } from './configurations.js';
export { FifoFirstFit } from './fifo-first-fit.js';
export type { Group } from './group.js';
export {
  ARRIVALS,
  type DrawnJobs,
  drawJobs,
  meanSize,
  type PackingJob,
  type PackingResult,
  runPacking,
  SERVICES,
  type SizeDraw,
} from './model.js';
export type { Packer } from './packer.js';
export { makePacker, PACKING_NAMES, type PackingName } from './packers.js';
export { CAPACITY, J_MAX, jFor, reservedSize, sizeOf, typeOf } from './partition.js';
export { PACKING_MODULES } from './policy.js';
export { VirtualQueues } from './virtual-queues.js';
export { VirtualQueuesBestFit } from './virtual-queues-best-fit.js';

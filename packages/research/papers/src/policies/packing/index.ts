export { bestConfiguration, type Configuration, kRed, weightOf } from './configurations.js';
export type { Group } from './group.js';
export {
  drawJobs,
  meanSize,
  type PackingJob,
  type PackingResult,
  runPacking,
  type SizeDraw,
} from './model.js';
export { makePacker, PACKING_NAMES, type PackingName } from './packers.js';
export { CAPACITY, sizeOf, typeOf } from './partition.js';
export { PACKING_MODULES } from './policy.js';
export { VirtualQueues } from './virtual-queues.js';
export { VirtualQueuesBestFit } from './virtual-queues-best-fit.js';

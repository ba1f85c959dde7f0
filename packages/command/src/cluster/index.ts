export { ATTRIBUTE_OPTION, attributesOfAll, parseAttributes } from './attributes.js';
export type { DaemonIsUp } from './child.js';
export { connect, type FoundCluster, findCluster, openCluster } from './connect.js';
export * from './daemon-options.js';
export { foldersBeyond, inFreeFolder, journalIn } from './free-folder.js';
export { keySource, keysFor } from './keys.js';
export { LocalCluster } from './local-cluster.js';
export {
  amountsIn,
  CPUS_OPTION,
  GPUS_OPTION,
  gpuNamesOf,
  MEMORY_OPTION,
  parseResources,
  RESOURCES_OPTION,
  sizeOfWorker,
  timesAll,
} from './resources.js';

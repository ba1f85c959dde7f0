export { ATTRIBUTE_OPTION, attributesOfAll, parseAttributes } from './attributes.js';
export type { DaemonIsUp } from './child.js';
export { connect, type FoundCluster, findCluster, openCluster } from './connect.js';
export * from './daemon-options.js';
export { inFreeFolder, journalIn } from './free-folder.js';
export { keySource, keysFor } from './keys.js';
export { LocalCluster } from './local-cluster.js';
export {
  amountsIn,
  capacityOf,
  gpuNamesOf,
  RESOURCES_OPTION,
  SLOTS_OPTION,
  SLOTS_OR_NONE_OPTION,
  timesAll,
} from './resources.js';

export * from './bearer.js';
export {
  addClient,
  type ClusterKeys,
  clientsIn,
  followRotation,
  generateKeys,
  type RotationStep,
  removeClient,
  replaceClientKey,
  rotate,
} from './generate.js';
export { isClientName, type KeyFile, keyFileName } from './key-file.js';
export {
  checkOwner,
  fileVersion,
  type KeySource,
  keysIn,
  readClients,
  readKeyFolder,
  readKeys,
  writeKeyFolder,
} from './key-folder.js';
export { type KeyRing, type Keys, keyRing } from './key-ring.js';
export { watchFile, watchKeys } from './watch.js';

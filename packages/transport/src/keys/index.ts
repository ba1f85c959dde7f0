export { type ClusterKeys, generateKeys, type RotationStep, rotate } from './generate.js';
export { type KeyFile, keyFileName } from './key-file.js';
export { checkOwner, type KeySource, keysIn, readKeyFolder, readKeys, writeKeyFolder } from './key-folder.js';
export { type KeyRing, type Keys, keyRing } from './key-ring.js';

export * from './bearer.js';
export {
  addClient,
  addMember,
  type ClusterKeys,
  clientsIn,
  generateKeys,
  isKeyFor,
  membersIn,
  type RotationStep,
  removeKey,
  replaceRoleKey,
  rotate,
  updated,
} from './generate.js';
export {
  isKeyName,
  type KeyFile,
  keyFileName,
  MEMBER_ROLES,
  type MemberRole,
  type NamedClient,
  type NamedMember,
} from './key-file.js';
export {
  checkOwner,
  fileVersion,
  type KeySource,
  keysIn,
  readIndividuals,
  readKeyFolder,
  readKeys,
  writeKeyFolder,
} from './key-folder.js';
export { type KeyRing, type Keys, keyRing, type Member, permitsName } from './key-ring.js';
export { watchFile, watchKeys } from './watch.js';
export { boundsProblem, type WorkerBounds, type WorkerClaims } from './worker-bounds.js';

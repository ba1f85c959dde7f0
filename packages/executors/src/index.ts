export { prepareCgroup } from './cgroup.js';
export type { SleepEnded } from './channels.js';
export { compiledFile } from './compiled.js';
export { Containers } from './containers.js';
export * from './contract.js';
export { INHERITED_NAMES } from './environment.js';
export { type ExecutorOptions, Executors } from './executors.js';
export { Isolation, type RunAs } from './isolation.js';
export {
  allowedBytes,
  GRACE_MS,
  MODULE_HEAP_MIB_MAX,
  moduleHeapMiB,
  VALUE_BYTES_MAX,
  WORKER_BYTES,
} from './limits.js';
export { inheritedOpenFiles } from './open-files.js';
export { SleepExecutor } from './sleep.js';

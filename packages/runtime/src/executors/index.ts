export * from './contract.js';
export { INHERITED_NAMES } from './environment.js';
export { createExecutors, type ExecutorOptions, type Executors } from './executors.js';
export { GRACE_MS, MODULE_HEAP_MIB_MAX, VALUE_BYTES_MAX } from './limits.js';
export { SleepExecutor } from './sleep.js';

export * from './contract.js';
export type { Entry } from './entry.js';
export { WorkerMemory } from './memory.js';
export { WorkerQueue } from './queue.js';
export { Worker } from './worker.js';

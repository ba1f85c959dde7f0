export * from './contract.js';
export { WorkerMemory } from './memory.js';
export { type Entry, WorkerQueue } from './queue.js';
export { Worker } from './worker.js';

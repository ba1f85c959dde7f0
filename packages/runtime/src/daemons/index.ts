export type { HttpOptions } from '../http/index.js';
export { type CentralOptions, startCentral } from './central.js';
export type { Daemon } from './daemon.js';
export { createLogger, LOG_LEVELS } from './logging.js';
export type { CloseReason } from './process.js';
export { type SchedulerOptions, startScheduler } from './scheduler.js';
export { startWorkers, type WorkersOptions } from './workers.js';

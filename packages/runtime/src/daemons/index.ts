import type { CentralOptions } from './central.js';
import type { Daemon } from './daemon.js';
import type { SchedulerOptions } from './scheduler.js';
import type { WorkersOptions } from './workers.js';

export type { HttpOptions } from '../http/index.js';
export type { CentralOptions, ProblemSolver, ReplacedPolicy, SolverReply } from './central.js';
export type { Daemon } from './daemon.js';
export { type JournalLocation, newTag } from './journal-port.js';
export { holdLaterFailures } from './later-failures.js';
export { createLogger } from './logging.js';
export { type NotifyOptions, signatureOf } from './notifier.js';
export type { CloseReason } from './process.js';
export type { SchedulerOptions } from './scheduler.js';
export { readUsersFile } from './users-file.js';
export type { WorkersOptions } from './workers.js';

// A process has one role. The modules of other roles are not loaded, which saves memory with a hundred workers per machine.

export async function startCentral(options: CentralOptions): Promise<Daemon> {
  return (await import('./central.js')).startCentral(options);
}

export async function startScheduler(options: SchedulerOptions): Promise<Daemon> {
  return (await import('./scheduler.js')).startScheduler(options);
}

export async function startWorkers(options: WorkersOptions): Promise<Daemon> {
  return (await import('./workers.js')).startWorkers(options);
}

import type { Outcome } from './fields/records.js';

/** The system has no process, memory or file left, or no commands can be started at all: no task is to blame. */
const OF_THE_WORKER: ReadonlySet<string> = new Set([
  'spawner-failed',
  'process-limit',
  'too-many-files',
  'no-memory',
]);

/** Faults that the task or the worker may have caused: something it names is missing or unusable, on this worker or on all. */
const UNCLEAR: ReadonlySet<string> = new Set([
  'no-account',
  'no-such-folder',
  'command-not-found',
  'permission-denied',
  'output-file',
  'no-such-module',
  'spawn-failed',
]);

/** Whether a run with this error never began, and if so whose fault it is, as far as one worker can tell. */
export function startFaultOf(errorCode: string): 'worker' | 'unclear' | undefined {
  if (OF_THE_WORKER.has(errorCode)) return 'worker';
  return UNCLEAR.has(errorCode) ? 'unclear' : undefined;
}

/** The same outcome for a failed attempt, without blaming the task. */
export function startFault({ kind, errorCode }: Outcome): 'worker' | 'unclear' | undefined {
  return kind === 'lost' ? startFaultOf(errorCode) : undefined;
}

/** Its worker was lost, and another task that ran there is taken to be at fault. */
export const LOST_BESIDE_ANOTHER = 'worker-lost-beside';

/** The job has ended too many workers, and this task of it had not ended: no attempt of it is to blame. */
export const JOB_GIVEN_UP = 'job-given-up';

/** The job had not started by its deadline, and was not to start later. */
export const DEADLINE_MISSED = 'deadline-missed';

/** The job had not ended within its time limit. */
export const TIME_LIMIT = 'time-limit';

/** Another task of its gang failed, which ends the attempt for all. */
export const GANG_ENDED = 'gang-ended';

/** The owner ended the task voluntarily. */
export function isOwnersEnd({ errorCode }: Outcome): boolean {
  return OWNERS_ENDS.has(errorCode);
}

const OWNERS_ENDS: ReadonlySet<string> = new Set([JOB_GIVEN_UP, DEADLINE_MISSED, TIME_LIMIT, GANG_ENDED]);

/**
 * Whether an attempt ended without evidence about its task: it did not even kill its worker. An owner cancels
 * attempts that it considers lost; after a restart it may have forgotten that.
 */
export function isExcused(outcome: Outcome): boolean {
  if (startFault(outcome) !== undefined || outcome.kind === 'cancelled') return true;
  return outcome.kind === 'lost' && EXCUSES.has(outcome.errorCode);
}

/** The worker was stopped, the task was preempted, or another task is at fault. */
const EXCUSES: ReadonlySet<string> = new Set([
  'worker-stopped',
  'executor-closed',
  'preempted',
  LOST_BESIDE_ANOTHER,
  GANG_ENDED,
]);

import { COMPLETED, type Outcome } from '../fields/records.js';

/** Why a worker ends a run before it completes. */
export type KillReason = 'cancelled' | 'timeout' | 'shutdown' | 'preempted' | 'drained';

/** Outcome of a run that a worker killed, by reason. */
export const KILL_OUTCOMES: Readonly<Record<KillReason, Outcome>> = {
  cancelled: cut('cancelled', 'cancelled', 'cancelled while it ran'),
  timeout: cut('timeout', 'timeout', 'ran longer than its timeout'),
  preempted: cut('lost', 'preempted', 'preempted by another job'),
  drained: cut('lost', 'worker-drained', 'its worker was drained before it ended'),
  shutdown: cut('lost', 'worker-stopped', 'its worker was stopped while it ran'),
};

function cut(kind: Outcome['kind'], errorCode: string, errorMessage: string): Outcome {
  return { ...COMPLETED, kind, errorCode, errorMessage };
}

/**
 * Errors of the worker: it has run out of processes, memory or files, or cannot start commands at all.
 */
const OF_THE_WORKER: ReadonlySet<string> = new Set([
  'spawner-failed',
  'process-limit',
  'too-many-files',
  'no-memory',
]);

/**
 * Errors that may be the fault of the task or of the worker: something that the task names is missing or
 * unusable, perhaps only on this worker.
 */
const UNCLEAR: ReadonlySet<string> = new Set([
  'no-account',
  'no-such-folder',
  'command-not-found',
  'permission-denied',
  'output-file',
  'image-unavailable',
  'container-failed',
  'no-such-module',
  'spawn-failed',
]);

/**
 * Classifies an error that kept a run from starting: the fault is the worker's, or unclear. undefined: the run started.
 */
export function startFaultOf(errorCode: string): 'worker' | 'unclear' | undefined {
  if (OF_THE_WORKER.has(errorCode)) return 'worker';
  return UNCLEAR.has(errorCode) ? 'unclear' : undefined;
}

/** The same classification for the outcome of an attempt. */
export function startFault({ kind, errorCode }: Outcome): 'worker' | 'unclear' | undefined {
  return kind === 'lost' ? startFaultOf(errorCode) : undefined;
}

/** The worker was lost, and another task that ran there is blamed. */
export const LOST_BESIDE_ANOTHER = 'worker-lost-beside';

/** Error code of a command that was lost with the process of its worker that starts commands. */
export const SPAWNER_LOST = 'spawner-lost';

/** The job lost too many workers; this task had not ended, and none of its attempts is blamed. */
export const JOB_GIVEN_UP = 'job-given-up';

/** The job missed its deadline before it started, and was abandoned. */
export const DEADLINE_MISSED = 'deadline-missed';

/** The job had not ended within its time limit. */
export const TIME_LIMIT = 'time-limit';

/** Another task of its gang failed, which ended the attempt of all members. */
export const GANG_ENDED = 'gang-ended';

/** Whether the owner ended the task deliberately. */
export function isEndedByOwner({ errorCode }: Outcome): boolean {
  return ENDED_BY_OWNER.has(errorCode);
}

const ENDED_BY_OWNER: ReadonlySet<string> = new Set([JOB_GIVEN_UP, DEADLINE_MISSED, TIME_LIMIT, GANG_ENDED]);

/**
 * Whether the end of an attempt is no evidence against its task, not even that the task killed its worker.
 * Cancelled attempts are excused: owners cancel attempts that they consider lost, and do not know the reason after a
 * restart.
 */
export function isExcused(outcome: Outcome): boolean {
  if (startFault(outcome) !== undefined || outcome.kind === 'cancelled') return true;
  return outcome.kind === 'lost' && EXCUSED_CODES.has(outcome.errorCode);
}

/** The worker was stopped, the task was preempted, or another task is at fault. */
const EXCUSED_CODES: ReadonlySet<string> = new Set([
  ...Object.values(KILL_OUTCOMES).flatMap(({ kind, errorCode }) => (kind === 'lost' ? [errorCode] : [])),
  'executor-closed',
  LOST_BESIDE_ANOTHER,
  GANG_ENDED,
]);
